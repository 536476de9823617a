# host: FastAPI
# tried: fastapi 0.165.0, aiosqlite 0.22.1
# install: `pip install sqlite-ltr fastapi aiosqlite`
# load: await sqlite_ltr.load_async(connection)

from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
import sqlite_ltr
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient


@asynccontextmanager
async def database(app):
    async with aiosqlite.connect("shop.db") as connection:
        await sqlite_ltr.load_async(connection)
        app.state.connection = connection
        yield


app = FastAPI(lifespan=database)


@app.post("/train")
async def train(request: Request):
    connection = request.app.state.connection
    await connection.executescript(Path("hotels.sql").read_text())
    sql = "SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'"
    ((warnings,),) = await connection.execute_fetchall(sql)
    await connection.commit()
    return warnings


@app.get("/rank/{query}")
async def rank(query: int, request: Request):
    sql = """
        SELECT rank, doc_id, printf('%.2f', score)
          FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3"""
    return [tuple(row) for row in await request.app.state.connection.execute_fetchall(sql, (query,))]


with TestClient(app) as client:
    print(client.post("/train").json())
    for row in client.get("/rank/90").json():
        print(*row)

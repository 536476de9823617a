// Links, anchors and pictures of the built site lead somewhere, and no page loads anything from another host.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { posix } from 'node:path';

const site = 'target/site';
const base = process.env.SITE_BASE ?? '/';
const pages = readdirSync(site, { recursive: true }).map((name) => name.replaceAll('\\', '/')).filter((name) => name.endsWith('.html'));
const texts = new Map(pages.map((page) => [page, readFileSync(`${site}/${page}`, 'utf8')]));
const anchors = new Map([...texts].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]))]));
const wrong = [];
let links = 0;

for (const [page, text] of texts) {
    for (const [, tag, attributes] of text.matchAll(/<(a|img|script|link|source|iframe|video)\b([^>]*)>/g)) {
        const value = attributes.match(/ (?:href|src)="([^"]*)"/)?.[1].replaceAll('&amp;', '&');
        if (value === undefined || value.startsWith('data:')) continue;
        if (/^(https?:)?\/\//.test(value)) {
            if (tag !== 'a') wrong.push(`${page}: loads ${value}`);
            continue;
        }
        if (/^[a-z]+:/.test(value)) continue;
        links += 1;
        const [path, anchor] = value.split('#');
        if (path.startsWith('/') && !path.startsWith(base)) wrong.push(`${page}: ${value} is outside of ${base}`);
        const inside = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(page), path);
        let target = path === '' ? page : decodeURI(inside).replace(/^\.?$/, 'index.html').replace(/\/$/, '/index.html');
        if (!existsSync(`${site}/${target}`) || statSync(`${site}/${target}`).isDirectory()) wrong.push(`${page}: no ${value}`);
        else if (anchor && !anchors.get(target)?.has(decodeURIComponent(anchor))) wrong.push(`${page}: no anchor ${value}`);
    }
}
for (const name of readdirSync(`${site}/assets`).filter((name) => name.endsWith('.css')))
    for (const [url] of readFileSync(`${site}/assets/${name}`, 'utf8').matchAll(/(url\(|@import\s*)["']?(https?:)?\/\/[^)"']*/g)) wrong.push(`${name}: ${url}`);

console.log(wrong.concat(`${links} links on ${pages.length} pages, ${wrong.length} of them wrong`).join('\n'));
process.exitCode = wrong.length ? 1 : 0;

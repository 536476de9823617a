// Asks the search index of the built site the questions of questions.json, as the search box does, and counts those whose page
// is among the first three results. Fails below GOAL. `missing`: no page answered when the list
// was made, and this one should.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const GOAL = 55;
const site = 'target/site';
const MiniSearch = createRequire(`${process.cwd()}/target/tools/site/package.json`)('minisearch');

// 1. The index, and the settings that the pages carry. VitePress writes functions of the settings as text.
const chunk = readdirSync(`${site}/assets/chunks`).find((name) => name.startsWith('@localSearchIndex'));
const index = (await import(pathToFileURL(`${site}/assets/chunks/${chunk}`))).default;
const page = readFileSync(`${site}/index.html`, 'utf8');
const data = JSON.parse(JSON.parse(page.split('__VP_SITE_DATA__').pop().match(/JSON\.parse\(("(?:[^"\\]|\\.)*")\)/)[1]), (key, value) =>
    typeof value === 'string' && value.startsWith('_vp-fn_') ? new Function(`return ${value.slice(7)}`)() : value);
const settings = data.themeConfig.search.options?.miniSearch ?? {};

// 2. As in VPLocalSearchBox.vue.
const search = MiniSearch.loadJSON(index, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...settings.searchOptions },
    ...settings.options,
});

// 3. Results are sections: three rows of the box.
const address = (path) => data.base + path.replace(/^docs\//, '').replace(/README\.md$/, '').replace(/\.md$/, '.html');
const questions = JSON.parse(readFileSync('tests/site/questions.json', 'utf8'));
// The results of each question as JSON, for browser.py.
if (process.argv[2] === '--json') {
    console.log(JSON.stringify(Object.fromEntries(questions.map(({ question }) => [question, search.search(question).slice(0, 16).map(({ id }) => id)]))));
    process.exit();
}
let found = 0;
for (const { question, page } of questions) {
    const results = search.search(question).map((result) => result.id);
    const place = results.findIndex((id) => id.split('#')[0] === address(page)) + 1;
    const isFound = place > 0 && place <= 3;
    found += isFound;
    if (!isFound) console.log(`${question}\n    ${page}: place ${place || 'none'}; first: ${results.slice(0, 3).join(' ')}`);
}
console.log(`${found} of ${questions.length} questions: their page is among the first three results`);
process.exitCode = found < GOAL ? 1 : 0;

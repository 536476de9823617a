// The documentation site: VitePress reads the pages of the repository as they are. docs/site/build runs it.
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

const root = process.cwd();
const base = process.env.SITE_BASE ?? '/';
const read = (path) => readFileSync(join(root, path), 'utf8').replaceAll('\r\n', '\n');
const list = (folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`).sort();

// The navigation. Every page is in it once; the build fails otherwise.
const groups = {
    Start: ['README.md', 'examples/shop/README.md', 'docs/tutorial.md', 'docs/guide/your-data.md', 'docs/guide/which-algorithm.md',
        'docs/guide/jobs.md', 'docs/hosts.md', 'docs/guide/python.md', 'docs/guide/rust.md', 'docs/limits.md', 'docs/faq.md',
        'docs/compared.md', 'docs/glossary.md'],
    Guide: ['column-weights', 'text', 'few-judgments', 'rag', 'agent-memory', 'hybrid', 'hybrid-weights', 'features', 'categories', 'judgments', 'clicks',
        'selections', 'ubi-and-trec', 'cold-start', 'biased-logs', 'interleaving', 'choosing', 'comparing', 'test-suites', 'scores', 'objectives',
        'explaining', 'plots', 'query-dependent', 'serving', 'monitoring', 'export', 'locks', 'large-data', 'engines'].map((name) => `docs/guide/${name}.md`),
    Algorithms: ['auto', 'trees', 'pairwise', 'smoothing', 'kernels', 'listwise', 'direct', 'slam', 'constraints',
        'recommendation'].map((name) => `docs/algorithms/${name}.md`),
    Reference: ['functions', 'sources', 'options', 'algorithms', 'losses', 'metrics', 'report', 'python', 'rules']
        .map((name) => `docs/reference/${name}.md`),
    Papers: ['docs/benchmarks.md', 'docs/experiments.md', 'docs/papers.md'],
    Decisions: ['ARCHITECTURE.md', ...list('docs/adr'), 'CONTRIBUTING.md', 'SECURITY.md', 'POLICIES.md', 'CHANGELOG.md', 'docs/release-checklist.md'],
};
const pages = Object.values(groups).flat();
const sources = [...readdirSync(root).filter((name) => name.endsWith('.md')), ...list('docs'), 'examples/shop/README.md'];
const wrong = [...sources.filter((page) => !pages.includes(page)).map((page) => `${page} is not in the navigation`),
    ...pages.filter((page, i) => !sources.includes(page) || pages.indexOf(page) !== i).map((page) => `${page} is no page, or is in the navigation twice`)];
if (wrong.length) throw new Error(`docs/site/config.mjs: ${wrong.join('; ')}`);

const title = (page) => read(page).match(/^# (.*)$/m)[1].replaceAll('`', '');
const items = (group) => groups[group].map((page) => ({ text: page === 'README.md' ? 'What it is' : title(page), link: address(page) }));

// The address of a page: docs/guide/text.md is /guide/text, README.md the front page.
function address(page) {
    return `/${page.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md').replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;
}

// Anchors as GitHub makes them.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');

// Tabs of the site, which plain Markdown shows one after another or not at all: fenced blocks that follow one another, each under
// its name in bold, and the programs of a comment `<!-- tabs: NAME=FILE, ... -->`.
const ending = { mjs: 'js', py: 'python', rs: 'rust' };
const fence = (label, language, code) => `\`\`\`${language} [${label}]\n${code.trim()}\n\`\`\`\n`;
const group = (blocks) => `::: code-group\n${blocks.join('')}:::\n`;
function tabs(text) {
    const program = (entry) => {
        const [label, file] = entry.trim().split('=');
        const name = file.split('.').pop();
        // Without the header, which is a row of the table.
        return fence(label, ending[name] ?? name, read(file).replace(/^.*?\n\n/s, ''));
    };
    return text.replace(/^<!-- tabs: (.*) -->$/gm, (all, entries) => group(entries.split(',').map(program)))
        .replace(/(?:^\*\*[^*\n]+\*\*\n\n```\w+\n[^]*?\n```\n\n?){2,}/gm, (run) => group([...run.matchAll(
            /^\*\*([^*\n]+)\*\*\n\n```(\w+)\n([^]*?)\n```$/gm)].map(([, label, language, code]) => fence(label, language, code))));
}

// Links between pages become links of the site. Other files of the repository are copied into it.
const files = new Set();
function repository(md) {
    md.core.ruler.before('normalize', 'tabs', (state) => { state.src = tabs(state.src); });
    // Long code breaks behind its punctuation, so tables stay narrow. Short names stay whole.
    const code = md.renderer.rules.code_inline;
    md.renderer.rules.code_inline = (tokens, i, ...rest) => {
        const html = code(tokens, i, ...rest);
        return tokens[i].content.length > 20 ? html.replace(/(::|(?<!<)[/_(.,])(?=[^<\s])/g, '$1<wbr>') : html;
    };
    md.core.ruler.push('links_of_the_repository', (state) => {
        const page = copies[state.env.relativePath];
        for (const token of state.tokens.flatMap((block) => block.children ?? [])) {
            const href = token.type === 'link_open' && token.attrGet('href');
            if (!page || !href || /^[a-z]+:|^#/.test(href)) continue;
            const [path, anchor = ''] = href.split(/(?=#)/);
            const target = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, '');
            if (pages.includes(target)) token.attrSet('href', address(target) + anchor);
            else if (!existsSync(join(root, target))) throw new Error(`${page}: no file ${target}`);
            else if (statSync(join(root, target)).isDirectory()) token.attrSet('href', address(pages.find((name) => name.startsWith(target))));
            else {
                files.add(target);
                token.attrSet('href', `${base}${target}`);
                token.attrSet('target', '_blank');
            }
        }
    });
}
// The pages are next to the generator, whose modules they import: copies, named after their addresses.
const copies = Object.fromEntries(pages.map((page) => [`${address(page).slice(1)}.md`.replace(/(^|\/)\.md$/, '$1index.md'), page]));
const staged = join(root, 'target/tools/site/pages');
rmSync(staged, { recursive: true, force: true });
for (const [name, page] of Object.entries(copies)) cpSync(join(root, page), join(staged, name));
// The README names the pictures by another path.
for (const folder of ['guide/plots', 'docs/guide/plots']) cpSync(join(root, 'docs/guide/plots'), join(staged, folder), { recursive: true });

// Search as people type: words without their endings, no stop words, typing errors in long words, beginnings of the last word.
// VitePress writes these functions into the pages, so each must stand alone. Decisions and proofs come after guides.
const search = {
    // The name of its language above a code block is no text.
    _render: (text, env, md) => md.render(text, env).replace(/<span class="lang">.*?<\/span>/g, ''),
    miniSearch: {
        options: {
            processTerm(term) {
                const stop = 'a about all also am an and any are as at be been but by can could did do does doing don each every few for from get give has have he how i if in into is isn it its just let like make many me more most must my need no not now of off on once only or other our out over put same set shall should show so some such take than that the their them then there these they this those through to too up us use used using very want was way we were what when where whether which while who will with would yes you your';
                let word = term.toLowerCase();
                if (word.length < 2 || stop.split(' ').includes(word)) return null;
                if (word.length <= 3) return word;
                word = word.replace(/(ss|i)es$/, '$1').replace(/([^s])s$/, '$1').replace(/([a-z]{3,})(ing|ed|er|ly|ion|ment)$/, '$1');
                return word.replace(/([^aeiouls])\1$/, '$1').replace(/(.{4})e$/, '$1').replace(/(.{2})y$/, '$1i');
            },
        },
        searchOptions: {
            boost: { title: 1, titles: 1, text: 1 },
            bm25: { k: 4, b: 0.7, d: 0 },
            prefix: (term, i, terms) => i === terms.length - 1 && term.length > 2,
            fuzzy: (term) => (term.length > 5 ? 0.2 : false),
            boostDocument: (id) => (/(adr\/|CHANGELOG|CONTRIBUTING|ARCHITECTURE|release-checklist)/.test(id) ? 0.3
                : /(papers|experiments|reference\/(rules|losses|python))\.html/.test(id) ? 0.5 : 1),
        },
    },
};

const icon = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#3451b2"><path d="M2 2h12v3H2zM2 6.5h9v3H2zM2 11h6v3H2z"/></svg>';

export default {
    title: 'sqlite-ltr',
    description: 'Learning to rank for SQLite: train ranking models from clicks or relevance judgments, and rank results in SQL',
    // Tables are wide: small type, room next to the text. Output needs no label.
    head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }], ['style', {}, `.vp-doc table { font-size: 14px; line-height: 20px }
.vp-doc th, .vp-doc td { padding: 6px 10px; vertical-align: top; text-align: left }
.vp-doc td code { padding: 1px 4px }
.vp-doc td:last-child { min-width: 11em }
.vp-doc [class~=language-text] > span.lang { display: none }
@media (min-width: 960px) { .VPDoc.VPDoc .container .content .content-container { max-width: 800px } }`]],
    srcDir: staged,
    outDir: join(root, 'target/site'),
    base,
    cleanUrls: false,
    markdown: {
        config: repository,
        anchor: { slugify },
        attrs: { disable: true },
        linkify: false,
    },
    themeConfig: {
        nav: Object.keys(groups).map((group) => ({ text: group, link: address(groups[group][0]) })),
        sidebar: Object.keys(groups).map((group) => ({ text: group, collapsed: !['Start', 'Guide'].includes(group), items: items(group) })),
        outline: [2, 3],
        search: { provider: 'local', options: { ...search, detailedView: true } },
    },
    buildEnd() {
        for (const file of files) cpSync(join(root, file), join(root, 'target/site', file));
    },
};

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

const docs = join(import.meta.dirname, '../..')

/** Where links out of docs/ lead, such as https://example.com/tallygate/tree/main; unset: they are words. */
const repository = process.env.DOCS_REPOSITORY_URL ?? ''

/** @type {import('vitepress').UserConfig} */
export default {
  title: 'tallygate',
  description: 'A reverse proxy that meters model traffic: who used what, and what did it cost.',
  srcDir: '../',
  srcExclude: ['site/**'],
  outDir: '../../dist/site',
  cacheDir: '../../node_modules/.cache/docs-site/cache',
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: true,
  markdown: { config: (md) => md.core.ruler.push('links-of-files', linksOfFiles) },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [...sectionsOfIndex(), { text: 'Decisions', collapsed: true, items: decisions() }],
  },
}

/** docs/README.md is the order of pages: its headings, and the links below each. A page that it lacks comes last. */
function sectionsOfIndex() {
  const sections = sectionsIn()
  const listed = new Set(sections.flatMap(({ items }) => items.map(({ link }) => link)))
  const others = readdirSync(docs)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `/${name.slice(0, -'.md'.length)}`)
    .filter((link) => !listed.has(link))
  return others.length === 0
    ? sections
    : [...sections, { text: 'More', items: others.map((link) => ({ text: link.slice(1), link })) }]
}

function sectionsIn() {
  return readFileSync(join(docs, 'README.md'), 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((text) => ({
      text: text.slice(0, text.indexOf('\n')),
      items: [...text.matchAll(/\[([^\]]+)\]\(([a-z-]+)\.md\)/g)].map(([, name, page]) => ({
        text: name.replace(/\s+/g, ' '),
        link: `/${page}`,
      })),
    }))
}

function decisions() {
  return readdirSync(join(docs, 'decisions'))
    .sort()
    .map((name) => ({
      text: readFileSync(join(docs, 'decisions', name), 'utf8').match(/^# (.+)$/m)?.[1] ?? name,
      link: `/decisions/${name.replace(/\.md$/, '')}`,
    }))
}

/** Links to files that are not pages of the site: into the repository, or words. A folder of pages is its first page. */
function linksOfFiles({ tokens, env }) {
  for (const { children } of tokens) {
    const open = []
    for (const token of children ?? []) {
      if (token.type === 'link_close' && open.pop()) token.type = 'text'
      if (token.type !== 'link_open') continue
      const href = token.attrGet('href') ?? ''
      const path = posix.join(posix.dirname(env.relativePath), href.split('#')[0])
      const isFile = !/^(?:[a-z]+:|#)/.test(href)
      const isOutside = isFile && path.startsWith('../')
      if (isFile && !isOutside && statSync(join(docs, path), { throwIfNoEntry: false })?.isDirectory())
        token.attrSet('href', `${href}/${readdirSync(join(docs, path)).sort()[0]}`)
      const isWord = isOutside && repository === ''
      if (isOutside && !isWord) token.attrSet('href', `${repository}/${path.replace(/^(?:\.\.\/)+/, '')}`)
      if (isWord) token.type = 'text'
      open.push(isWord)
    }
  }
}

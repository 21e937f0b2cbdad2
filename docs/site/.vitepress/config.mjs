import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { anchorOf } from '../../../scripts/prose.ts'

const docs = join(import.meta.dirname, '../..')
const icon = readFileSync(join(docs, '../src/operator/pages/icon.svg'), 'utf8')

const FIRST_DECISION = decisions()[0]?.link
const MOST_IN_DESCRIPTION = 160

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
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    anchor: { slugify: anchorOf },
    config: (md) => md.core.ruler.push('links-of-files', linksOfFiles),
    // The default's comments are too pale on the ground of a block.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  transformPageData: ({ filePath }) => ({ description: descriptionOf(filePath) }),
  themeConfig: {
    search: {
      provider: 'local',
      // The name has to contain what is seen: "Search", and the key beside it.
      options: { translations: { button: { buttonText: 'Search ', buttonAriaLabel: 'Search K' } } },
    },
    outline: [2, 3],
    sidebar: {
      '/': [
        ...sectionsOfIndex(),
        { text: 'Decisions', items: [{ text: 'All decisions', link: FIRST_DECISION }] },
      ],
      '/decisions/': [
        { text: 'All pages', link: '/' },
        { text: 'Decisions', items: decisions() },
      ],
    },
  },
}

/** The first paragraph of a page as search engines show it: whole sentences, or its beginning. */
function descriptionOf(file) {
  const blocks = readFileSync(join(docs, file), 'utf8').split(/\n\s*\n/)
  const text = (blocks.find((block) => /^[^#|\n]/.test(block)) ?? '')
    .replace(/\*\*Context\.\*\* |[`*]/g, '')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
  if (text.length <= MOST_IN_DESCRIPTION) return text
  const start = text.slice(0, MOST_IN_DESCRIPTION)
  return start.match(/^.{60,}[.:](?= )/)?.[0] ?? `${start.replace(/ \S*$/, '')} …`
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
        text: name.replace(/\s+/g, ' ').replace(/^./, (first) => first.toUpperCase()),
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

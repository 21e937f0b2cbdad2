import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// The makers' own libraries know new fields of usage before an invoice does. Each is read, or named here with the reason.

/** Fields that no dialect reads, by library. One that a dialect has come to read, or that is gone, has to go. */
const UNREAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: {
    accepted_prediction_tokens: 'part of the completion, billed as that',
    rejected_prediction_tokens: 'part of the completion, billed as that',
    cached_image_tokens: 'of the image tool, whose pictures are priced as if nothing had been cached',
    cached_text_tokens: 'the rest of the cached tokens',
    ttl_30m_tokens: 'the usual lifetime, at the usual price of a write',
    invocation_count: 'requests of an eval, which have no fee',
    context_window:
      'how full a session of /live is; its usage is of another path, which is refused by default',
    event_id: 'a name',
    client_event_id: 'a name',
  },
  '@anthropic-ai/sdk': {
    processed_at: 'a time',
  },
}

/** Reports of whole organizations, which answer no call. */
const REPORTS = /\b(?:organization|admin)\b/
const USAGE = /interface (\w*(?:Usage|TokensDetails|TokenDetails|CacheCreation)\w*)[^{]*\{/g

function filesIn(folder: string, end: string): string[] {
  const isWanted = (entry: Dirent) => entry.isFile() && entry.name.endsWith(end)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(isWanted)
    .map((entry) => join(entry.parentPath, entry.name))
}

/** The members of an interface that opens before `start`, those of objects within it too. */
function membersFrom(text: string, start: number): string[] {
  let depth = 1
  let end = start
  while (depth > 0 && end < text.length) {
    depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0
    end += 1
  }
  return [...text.slice(start, end).matchAll(/^\s+'?(\w+)'?\??:/gm)].flatMap(([, name]) => name ?? [])
}

function usageFieldsOf(library: string): Set<string> {
  const fields = new Set<string>()
  for (const file of filesIn(join('node_modules', library, 'resources'), '.d.ts')) {
    if (REPORTS.test(file)) continue
    const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    for (const found of text.matchAll(USAGE))
      for (const name of membersFrom(text, found.index + found[0].length)) fields.add(name)
  }
  return fields
}

test.each(
  Object.keys(UNREAD),
)('each field of usage that %s knows is read, or known not to matter', (library) => {
  const dialects = filesIn('src/providers', '.ts').map((file) => readFileSync(file, 'utf8'))
  const words = new Set(dialects.flatMap((text) => text.match(/\b\w+\b/g) ?? []))
  const fields = usageFieldsOf(library)
  expect(fields.size).toBeGreaterThan(20)
  const unread = [...fields].filter((name) => !words.has(name))
  expect(unread.sort()).toEqual(Object.keys(UNREAD[library] ?? {}).sort())
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { addCompletion } from '../../src/cli/completion.ts'
import { addOperations } from '../../src/cli/operation-commands.ts'
import { ENVIRONMENT } from '../../src/config/config.ts'
import { CHAPTERS } from '../../src/operator/chapters.ts'
import { buildOpenApi } from '../../src/operator/openapi/document.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  'examples/clickhouse/README.md',
]

/** Code of a page: its blocks, line by line with continued lines joined, and what stands between backticks. */
function codeOf(page: string): readonly string[] {
  const text = readFileSync(page, 'utf8')
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map(([, code = '']) => code)
  const lines = blocks.flatMap((code) => code.replaceAll(/\\\n\s*/g, ' ').split('\n'))
  const spans = [...text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)]
  return [...lines, ...spans.map(([, code = '']) => code.replaceAll(/\s+/g, ' '))]
}

const program = new Command('tallygate').option('--json').option('--version').option('--help')
addOperations(program, CHAPTERS, {} as Cli)
addCompletion(program, {} as Cli)
const globals = ['--json', '--help', '--version', '-V', '-h']

/** Parts that only the package has: scripts/pack/tallygate.mjs. */
const PARTS = ['gateway', 'worker', 'help']

/** What is not there of a command as a page writes it; `null`: all of it is. */
function missingOf(written: string): string | null {
  let command = program
  const words = written.split(/\s+/).filter((word) => word !== '')
  if (PARTS.includes(words[0] ?? '')) return null
  let at = 0
  for (; at < words.length; at += 1) {
    const next = command.commands.find((one) => [one.name(), ...one.aliases()].includes(words[at] ?? ''))
    if (next === undefined) break
    command = next
  }
  // Other programs take the name, too: `helm install tallygate deploy/helm`.
  if (command === program) return /^[a-z][a-z-]*$/.test(words[0] ?? '') ? `no command ${words[0]}` : null
  const word = words[at] ?? ''
  const takesWords = command.registeredArguments.length > 0
  if (command.commands.length > 0 && !takesWords && /^[a-z][a-z-]+$/.test(word))
    return `no ${word} of ${command.name()}`
  const known = new Set([
    ...globals,
    ...[command, command.parent].flatMap((one) =>
      (one?.options ?? []).flatMap(({ long, short, flags }) => [
        ...(flags.match(/--[a-z-]+/g) ?? []),
        long,
        short,
      ]),
    ),
  ])
  const options = words.slice(at).flatMap((one) => /^(--[a-z][a-z-]*)/.exec(one)?.[1] ?? [])
  const unknown = options.filter((option) => !known.has(option))
  return unknown.length === 0 ? null : `no ${unknown.join(', ')} of ${command.name()}`
}

/** A command ends where the shell's own signs, a comment or the span ends. */
const WRITTEN = /(?<![\w@./=-]|SETUSER )tallygate (?:-- )?([a-z-][^#|;&><)(\n]*)/g

const familyOf = (name: string) => name.slice(0, name.indexOf('_') + 1)
const VARIABLES = new Set<string>(ENVIRONMENT.map(({ name }) => name))
/** Without OpenTelemetry's, of which pages name others that its libraries have. */
const FAMILIES = new Set([...VARIABLES].map(familyOf).filter((family) => family !== 'OTEL_'))

const ENDPOINTS = Object.entries(buildOpenApi({ baseUrl: '', version: '' }).paths)
/** Of the gateway itself: all other paths are the upstreams'. */
const ENDPOINT =
  /(?:(?<method>GET|POST|PUT|PATCH|DELETE) )?(?<![\w/])(?:https?:\/\/[^/\s]+)?(?<path>\/(?:admin|portal)\/v1\/[\w/{}.-]+|\/v1\/usage[\w/{}-]*)(?:\?(?<query>[\w=&]+))?/g

/** What is not there of an endpoint as a page writes it; `null`: all of it is. */
function missingOfEndpoint({ method, path = '', query = '' }: Readonly<Record<string, string | undefined>>) {
  const segments = path.split('/')
  const fits = (template: string) => {
    const parts = template.split('/')
    return (
      parts.length === segments.length &&
      parts.every((part, at) => part === segments[at] || part.startsWith('{'))
    )
  }
  const items = ENDPOINTS.filter(([template]) => fits(template)).flatMap(([, item]) => Object.entries(item))
  const operations = items.filter(([name]) => method === undefined || name === method.toLowerCase())
  if (operations.length === 0) return `no ${method ?? 'path'} ${path}`
  const known = JSON.stringify(operations)
  const names = query.split('&').map((pair) => pair.replace(/=.*/, ''))
  const unknown = names.filter((name) => name !== '' && !known.includes(`"name":"${name}"`))
  return unknown.length === 0 ? null : `no ${unknown.join(', ')} of ${path}`
}

describe.each(PAGES)('%s', (page) => {
  test('names commands and options that are declared', () => {
    const written = codeOf(page).flatMap((code) => [...code.matchAll(WRITTEN)].map(([, words = '']) => words))
    const missing = written.flatMap((words) => {
      const found = missingOf(words)
      return found === null ? [] : [`tallygate ${words.trim()}: ${found}`]
    })
    expect(missing).toEqual([])
  })

  test('names endpoints of the gateway that are declared', () => {
    const written = codeOf(page).flatMap((code) => [...code.matchAll(ENDPOINT)])
    expect(written.flatMap(({ groups = {} }) => missingOfEndpoint(groups) ?? [])).toEqual([])
  })

  // A name of another program's begins with another word.
  test('names variables that are declared', () => {
    const named = codeOf(page).flatMap(
      (code) => code.match(/(?<![\w<{-])[A-Z]+(?:_[A-Z\d]+)+(?![\w*(])/g) ?? [],
    )
    const unknown = named.filter((name) => FAMILIES.has(familyOf(name)) && !VARIABLES.has(name))
    expect([...new Set(unknown)]).toEqual([])
  })
})

test('pages name commands and endpoints', () => {
  expect(missingOf('client create acme')).toBe(null)
  expect(missingOf('client made acme')).toBe('no made of client')
  expect(missingOf('usage --day 3')).toBe('no --day of usage')
  expect(missingOfEndpoint({ method: 'GET', path: '/admin/v1/report', query: 'period=month' })).toBe(null)
  expect(missingOfEndpoint({ method: 'GET', path: '/admin/v1/report', query: 'day=1' })).toBe(
    'no day of /admin/v1/report',
  )
  expect(missingOfEndpoint({ method: 'PUT', path: '/admin/v1/report' })).toBe('no PUT /admin/v1/report')
})

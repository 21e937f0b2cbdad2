import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { renderKey, renderNewKey } from '../../domain/documents/key-document.ts'
import { findClient } from '../../keys/clients.ts'
import { createClientKey, type NewKey, revokeKey, type StoredKey, selectKeyPage } from '../../keys/keys.ts'
import { rotateLimitedKey } from '../../limits/table/rotate-limited-key.ts'
import { renderTable } from '../../operations/table.ts'
import { parseDuration, parseLifetime, parseListLimit, parseModels, parseName } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { type ListOptions, pageOrder, sayNext } from '../list-part.ts'
import { operatorName } from '../operator.ts'

/** `key create | list | revoke | rotate`: what clients call with. */
export function addKeyCommands(program: Command, cli: Cli): void {
  const key = program.command('key').description('the API keys that clients call with')

  key
    .command('create')
    .description('make a key; it is shown this once')
    .requiredOption('--client <name>', 'the client it belongs to')
    .option('--name <label>', 'a label to tell keys apart', parseName, 'default')
    .option('--expires-in <duration>', 'end it after this time, such as 90d', parseLifetime)
    .option('--models <list>', 'the models it may use, such as gpt-4o,claude-*', parseModels)
    .action(async (options: CreateOptions) => {
      const created = await cli.withServers(async ({ pool, keyPepper, announce }) => {
        const made = await createClientKey(
          pool,
          {
            client: options.client,
            name: options.name,
            models: options.models ?? null,
            expiresInSeconds: options.expiresIn ?? null,
          },
          keyPepper(),
        )
        await announce()
        return made
      })
      if (created === null) throw noClient(options.client)
      cli.print(renderNewKey(created), newText(created))
    })

  key
    .command('list')
    .description('show keys, without their secrets')
    .option('--client <name>', 'of this client alone')
    .option('--limit <n>', 'so many at most', parseListLimit)
    .option('--cursor <id>', 'those behind this one')
    .action(async (options: ListOptions & { readonly client?: string }) => {
      const client = options.client ?? null
      const order = pageOrder(options)
      const page = await cli.withServers(async ({ pool }) => {
        if (client !== null && (await findClient(pool, client)) === null) throw noClient(client)
        return await selectKeyPage(pool, client, order)
      })
      if (page === null) throw noKey(order.cursor ?? '')
      cli.print(page.items.map(renderKey), table(page.items))
      sayNext(cli, page.next)
    })

  key
    .command('revoke')
    .description('refuse a key from now on')
    .argument('<id>', 'the id of the key')
    .action(async (id: string) => {
      const revoked = await cli.withServers(async ({ pool, announce }) => {
        const found = await revokeKey(pool, id)
        await announce()
        return found
      })
      if (revoked === null) throw noKey(id)
      cli.print(renderKey(revoked), `Key ${id} of client ${revoked.client} is revoked.`)
    })

  key
    .command('rotate')
    .description('make a like key in the place of this one')
    .argument('<id>', 'the id of the key')
    .option('--overlap <duration>', 'how long the old key goes on', parseDuration, 86_400)
    .action(async (id: string, { overlap }: { readonly overlap: number }) => {
      const rotation = await cli.withServers(async ({ pool, keyPepper, announce }) => {
        const done = await rotateLimitedKey(pool, id, overlap, keyPepper(), operatorName())
        await announce()
        return done
      })
      if (rotation.kind === 'unknown') throw noKey(id)
      if (rotation.kind === 'inactive') throw new Failure(`key ${id} is revoked or expired: make a new one`)
      cli.print(renderNewKey(rotation.key), newText(rotation.key))
    })
}

interface CreateOptions {
  readonly client: string
  readonly name: string
  readonly expiresIn?: number
  readonly models?: readonly string[]
}

function noClient(name: string): Failure {
  return new Failure(`there is no client named ${name}`)
}

function noKey(id: string): Failure {
  return new Failure(`there is no key with the id ${id}`)
}

function newText(key: NewKey): string {
  const end = key.expiresAt === null ? '' : ` It ends on ${dayOf(key.expiresAt)}.`
  return `${key.key}\n\nThe key ${key.name} (${key.id}) of client ${key.client}, shown this once.${end}`
}

function table(keys: readonly StoredKey[]): string {
  if (keys.length === 0) return 'There is no key yet. Make one: key create --client NAME'
  const headings = ['CLIENT', 'NAME', 'KEY', 'STATE', 'MODELS', 'LAST USED', 'ID']
  return renderTable(
    headings.map((heading) => ({ heading })),
    keys.map((key) => [
      key.client,
      key.name,
      `${key.prefix}...`,
      stateOf(key),
      key.models?.join(',') ?? 'all',
      dayOf(key.lastUsedAt),
      key.id,
    ]),
  )
}

function stateOf({ revokedAt, expiresAt }: StoredKey): string {
  if (revokedAt !== null) return `revoked ${dayOf(revokedAt)}`
  if (expiresAt === null) return 'active'
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'until'} ${dayOf(expiresAt)}`
}

function dayOf(time: Date | null): string {
  return time?.toISOString().slice(0, 10) ?? 'never'
}

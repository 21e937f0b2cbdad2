import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { renderClient } from '../../domain/documents/client-document.ts'
import { type Client, createClient, selectClientPage, setClientDisabled } from '../../keys/clients.ts'
import { renderTable } from '../../operations/table.ts'
import { parseListLimit, parseName } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { type ListOptions, pageOrder, sayNext } from '../list-part.ts'

/** `client create | list | disable | enable`: the accounts that usage is summed up for. */
export function addClientCommands(program: Command, cli: Cli): void {
  const client = program.command('client').description('the accounts that usage is summed up for')

  client
    .command('create')
    .description('make a client')
    .argument('<name>', 'its name', parseName)
    .action(async (name: string) => {
      const created = await cli.withServers(({ pool }) => createClient(pool, name))
      if (created === null) throw new Failure(`there is already a client named ${name}`)
      cli.print(renderClient(created), `Client ${name} is made. Give it a key: key create --client '${name}'`)
    })

  client
    .command('list')
    .description('show clients, by name')
    .option('--limit <n>', 'so many at most', parseListLimit)
    .option('--cursor <id>', 'those behind this one')
    .action(async (options: ListOptions) => {
      const order = pageOrder(options)
      const page = await cli.withServers(({ pool }) => selectClientPage(pool, order))
      if (page === null) throw new Failure(`there is no client with the id ${order.cursor}`)
      cli.print(page.items.map(renderClient), table(page.items))
      sayNext(cli, page.next)
    })

  for (const [verb, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    client
      .command(verb)
      .description(disabled ? 'refuse all of its keys' : 'take its keys again')
      .argument('<name>', 'the name of the client')
      .action(async (name: string) => {
        const changed = await cli.withServers(async ({ pool, announce }) => {
          const found = await setClientDisabled(pool, name, disabled)
          await announce()
          return found
        })
        if (changed === null) throw new Failure(`there is no client named ${name}`)
        cli.print(renderClient(changed), `Client ${name} is ${verb}d.`)
      })
  }
}

function table(clients: readonly Client[]): string {
  if (clients.length === 0) return 'There is no client yet. Make one: client create NAME'
  return renderTable(
    [{ heading: 'NAME' }, { heading: 'STATE' }, { heading: 'CREATED' }, { heading: 'ID' }],
    clients.map(({ id, name, disabled, createdAt }) => [
      name,
      disabled ? 'disabled' : 'enabled',
      createdAt.toISOString().slice(0, 10),
      id,
    ]),
  )
}

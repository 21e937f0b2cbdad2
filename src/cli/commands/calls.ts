import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { printable } from '../../operations/table.ts'
import { type CallDocument, callDocument, findCalls } from '../../usage/calls/find-calls.ts'
import type { Cli } from '../cli.ts'

/** `calls find`: a single call, by the id that a client or a provider knows it by. */
export function addCallsCommands(program: Command, cli: Cli): void {
  program
    .command('calls')
    .description('single calls, as far as they are kept')
    .command('find')
    .description('what a call used and cost')
    .argument('<id>', 'of x-tallygate-call-id, or of the answer: chatcmpl-..., msg_..., resp_...')
    .action(async (id: string) => {
      const calls = await cli.withServers(({ pool }) => findCalls(pool, id))
      if (calls.length === 0) throw new Failure(`no call that is kept has the id ${id}`)
      const documents = calls.map(callDocument)
      cli.print(documents, documents.map(text).join('\n\n'))
    })
}

function text(call: CallDocument): string {
  const said = Object.entries(call).filter(([, value]) => value !== null)
  const width = Math.max(...said.map(([name]) => name.length))
  return said.map(([name, value]) => printable(`${name.padEnd(width)}  ${value}`)).join('\n')
}

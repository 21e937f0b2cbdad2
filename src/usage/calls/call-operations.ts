import { z } from 'zod'
import { shownList } from '../../operations/answers.ts'
import { textField } from '../../operations/fields.ts'
import { type Chapter, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { notFound } from '../../operations/refuse.ts'
import { printable } from '../../operations/table.ts'
import { type CallDocument, callDocument, type FoundCall, findCalls } from './find-calls.ts'

const findOperation = renderedOperation({
  name: 'calls.find',
  summary: 'Shows what a call used and cost.',
  role: 'read',
  http: { method: 'GET', path: '/calls/{id}', id: 'findCalls' },
  input: {
    id: textField('The id of x-tallygate-call-id, or of the answer: chatcmpl-..., msg_..., resp_...', 'id'),
  },
  answer: shownList(
    z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('The call under the names of its columns, its cost in US dollars as text.'),
  ),
  gives: 'The calls of this id, the newest first, as far as single calls are kept.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const calls = await findCalls(pool, id)
    if (calls.length === 0) throw notFound(`No call that is kept has the id ${id}.`)
    return calls
  },
  render: (calls: readonly FoundCall[]) => calls.map(callDocument),
  command: {
    words: 'calls find',
    print: (calls) => calls.map((call) => callText(callDocument(call))).join('\n\n'),
  },
})

export const CALLS_CHAPTER: Chapter<Ports> = {
  words: 'calls',
  about: 'Single calls, as far as they are kept.',
  operations: [findOperation],
}

function callText(call: CallDocument): string {
  const said = Object.entries(call).filter(([, value]) => value !== null)
  const width = Math.max(...said.map(([name]) => name.length))
  return said.map(([name, value]) => printable(`${name.padEnd(width)}  ${value}`)).join('\n')
}

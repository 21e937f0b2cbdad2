import { useState } from 'preact/hooks'
import { useTools } from '../shared/context.tsx'
import { Usd } from '../shared/figures.tsx'
import { count, milliseconds, moment, words } from '../shared/format.ts'
import { Name, Part } from '../shared/part.tsx'
import { Table } from '../shared/table.tsx'
import type { OwnCall } from './answers.ts'

const CALLS = 25

/** The client's latest calls, and earlier ones where asked for. */
export function Calls() {
  return (
    <Part<readonly OwnCall[]> title="Latest calls" path="calls" choices={{ limit: CALLS }} everyMs={60_000}>
      {(calls, { next }) => (
        <>
          <CallTable calls={calls} />
          {next !== null && <Earlier key={next} cursor={next} />}
        </>
      )}
    </Part>
  )
}

function Earlier({ cursor }: { readonly cursor: string }) {
  const { api } = useTools()
  const [shown, setShown] = useState<readonly OwnCall[]>([])
  const [next, setNext] = useState<string | null>(cursor)
  async function more(): Promise<void> {
    const answer = await api.read(`calls?limit=${CALLS}&cursor=${next}`)
    setShown([...shown, ...(answer.data as readonly OwnCall[])])
    setNext(answer.next)
  }
  return (
    <>
      {shown.length > 0 && <CallTable calls={shown} />}
      {next !== null && (
        <p class="below">
          <button type="button" class="plain link" onClick={() => void more()}>
            Show earlier calls
          </button>
        </p>
      )}
    </>
  )
}

function CallTable({ calls }: { readonly calls: readonly OwnCall[] }) {
  const tokens = (number: number | null) => (number === null ? '–' : count(number))
  return (
    <Table
      label="Calls"
      empty="No call is kept of these days."
      rows={calls}
      columns={[
        {
          heading: 'Arrived, UTC',
          cell: (call) => (
            <>
              {moment(call.arrived_at)}
              {[call.model, call.key_name ?? call.key_id, call.id].map((text) => (
                <small key={text} class="belonging">
                  <bdi>{text}</bdi>
                </small>
              ))}
            </>
          ),
        },
        { heading: 'Status', cell: ({ status, outcome }) => status ?? <Name of={words(outcome)} /> },
        {
          heading: 'Tokens',
          kind: 'extra',
          cell: ({ input_tokens: input, output_tokens: output }) =>
            `${tokens(input)} in, ${tokens(output)} out`,
        },
        {
          heading: 'Took',
          kind: 'extra',
          cell: ({ latency_ms: ms }) => (ms === null ? '–' : milliseconds(ms)),
        },
        {
          heading: 'Cost',
          kind: 'main',
          cell: ({ cost_usd: cost }) => (cost === null ? 'no price' : <Usd of={cost} />),
        },
      ]}
    />
  )
}

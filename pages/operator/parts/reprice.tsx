import { useState } from 'preact/hooks'
import { Action } from '../../shared/action.tsx'
import { Usd } from '../../shared/figures.tsx'
import { count, fullDay, plural } from '../../shared/format.ts'
import { Card, Name } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Repricing } from '../answers.ts'

/** Prices the past again: what would change is seen first, and only that is done. */
export function Reprice() {
  const [found, setFound] = useState<Repricing | null>(null)
  return (
    <Card
      title="The past by the prices of now"
      actions={
        <Action<Repricing>
          label="Try a repricing"
          path="prices/reprice"
          fixed={{ dry_run: true }}
          fields={[
            { name: 'model', label: 'Model', hint: 'or the beginning of names and *', isRequired: true },
            { name: 'since', label: 'Since', hint: 'a UTC day, such as 2026-11-01', isRequired: true },
          ]}
          says="It shows what would change, and writes nothing."
          onDone={setFound}
        />
      }
    >
      {found === null ? (
        <p class="empty">Try it: nothing is written until you confirm what it found.</p>
      ) : (
        <Found repricing={found} onDone={setFound} />
      )}
    </Card>
  )
}

interface FoundProps {
  readonly repricing: Repricing
  readonly onDone: (repricing: Repricing) => void
}

function Found({ repricing, onDone }: FoundProps) {
  const { model, since, calls, dry_run: isTried, changed, adjustment_id: adjustment } = repricing
  const { before_usd: before, after_usd: after, difference_usd: difference, rows } = repricing
  return (
    <>
      <p role="status">
        <Name of={model} /> since {fullDay(since)}: {plural(calls, 'call')}, <Usd of={before} /> becomes{' '}
        <Usd of={after} /> (<Usd of={difference} />
        ). {isTried ? 'Nothing is written yet.' : adjustment === null ? '' : `Corrected: ${adjustment}.`}
      </p>
      <Table
        label="Rows that change"
        empty="No cost changes."
        rows={rows}
        file={`repricing-${since}.csv`}
        columns={[
          { heading: 'Day', cell: ({ day }) => `${day}`, value: ({ day }) => `${day}` },
          {
            heading: 'Model',
            kind: 'text',
            cell: (row) => <Name of={`${row.model}`} detail={`${row.client}`} />,
            value: (row) => `${row.model}`,
          },
          {
            heading: 'Calls',
            kind: 'extra',
            cell: (row) => count(row.calls),
            value: (row) => row.calls,
          },
          {
            heading: 'Before',
            cell: (row) => <Usd of={row.before_usd} />,
            value: (row) => row.before_usd,
          },
          { heading: 'After', cell: (row) => <Usd of={row.after_usd} />, value: (row) => row.after_usd },
        ]}
      />
      {isTried && changed && (
        <p class="below">
          <Action<Repricing>
            label="Correct the past"
            path="prices/reprice"
            fixed={{
              model,
              since,
              ...(repricing.provider === null ? {} : { provider: repricing.provider }),
            }}
            fields={[{ name: 'reason', label: 'Reason', hint: 'for the audit' }]}
            says="An audited adjustment corrects the cost of these days. Calls that are still to come in are priced so, too."
            onDone={onDone}
            isGrave
          />
        </p>
      )}
    </>
  )
}

import { count, words } from '../shared/format.ts'
import { Name, Part } from '../shared/part.tsx'
import { Table } from '../shared/table.tsx'
import type { OwnModel } from './answers.ts'

/** They change once a day at most. */
const EVERY_MS = 3_600_000

/** The models that may be used, each with its prices of today. */
export function Models() {
  return (
    <Part<readonly OwnModel[]> title="Models and prices" path="models" everyMs={EVERY_MS}>
      {(models) => (
        <Table
          label="Models and prices"
          empty="No model is shown."
          rows={models}
          columns={[
            {
              heading: 'Model, and its prices',
              cell: ({ id, prices }) => (
                <>
                  <Name of={id} />
                  {(prices.length === 0 ? ['no price'] : prices.map(priceText)).map((text) => (
                    <small key={text} class="belonging">
                      {text}
                    </small>
                  ))}
                </>
              ),
            },
          ]}
        />
      )}
    </Part>
  )
}

function priceText({ service_tier: tier, hours, context, rates }: OwnModel['prices'][number]): string {
  const conditions = [tier, hours === null ? null : `at ${hours}`, contextText(context)].filter(
    (one) => one !== null,
  )
  const shown = rates.map(({ name, usd, per }) => `${words(name)} $${usd} per ${per}`)
  return `${conditions.length === 0 ? '' : `${conditions.join(', ')}: `}${shown.join(' · ')}`
}

function contextText(context: OwnModel['prices'][number]['context']): string | null {
  if (context === null) return null
  const { above, up_to: upTo } = context
  return upTo === null ? `over ${count(above)} tokens` : `up to ${count(upTo)} tokens`
}

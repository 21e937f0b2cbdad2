import { Action } from '../../shared/action.tsx'
import { address, choose } from '../../shared/context.tsx'
import { Filter } from '../../shared/controls.tsx'
import { QueryChoice, Usd } from '../../shared/figures.tsx'
import { count, moment, percent } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Contradictions, Difference, Doubt, ModelPrices, Unpriced } from '../answers.ts'
import { Reprice } from '../parts/reprice.tsx'
import { mendOf, UnpricedTable } from '../parts/unpriced-table.tsx'

/** What has no price, what newer prices wait for a person, and where others say another cost. */
export function PricesView() {
  const { days = '30', model } = address.value.query
  return (
    <>
      <Part<readonly Unpriced[]>
        title="Calls without a cost"
        path="unpriced"
        choices={{ days }}
        actions={<QueryChoice label="Days" name="days" values={['1', '7', '30']} chosen={days} />}
      >
        {(uses) => (
          <>
            {uses.length > 0 && <p class="quiet">{mendOf(uses)}</p>}
            <UnpricedTable uses={uses} />
          </>
        )}
      </Part>
      <Reprice />
      <Part<readonly Doubt[]>
        title="Newer prices that wait for a person"
        path="prices/doubts"
        everyMs={60_000}
      >
        {(doubts) => <Doubts doubts={doubts} />}
      </Part>
      <Part<readonly Difference[]>
        title="Providers that say another cost, by over 1 %"
        path="prices/differences"
        choices={{ days }}
        everyMs={60_000}
      >
        {(differences) => <Differences differences={differences} />}
      </Part>
      <Part<Contradictions>
        title="Sources that contradict each other"
        path="prices/contradictions"
        everyMs={300_000}
      >
        {({ contradictions }) => (
          <Table
            label="Contradictions"
            empty="The sources agree on all models in use."
            rows={contradictions}
            columns={[
              {
                heading: 'Model',
                cell: ({ provider, model: name, rate }) => (
                  <Name of={name} detail={`${provider} · ${rate}`} />
                ),
              },
              { heading: 'Taken', kind: 'text', cell: ({ taken }) => `${taken.price} (${taken.source})` },
              {
                heading: 'Others',
                kind: 'text',
                cell: ({ others }) => others.map(({ price, source }) => `${price} (${source})`).join(', '),
              },
              { heading: 'Why', kind: 'text', cell: ({ why }) => why },
            ]}
          />
        )}
      </Part>
      <div class="controls">
        <Filter label="Prices of a model" value={model ?? ''} onChoose={(name) => choose({ model: name })} />
      </div>
      {model !== undefined && <PricesOf model={model} />}
    </>
  )
}

function Doubts({ doubts }: { readonly doubts: readonly Doubt[] }) {
  return (
    <>
      <Table
        label="Doubts"
        empty="No newer price waits."
        rows={doubts}
        columns={[
          {
            heading: 'Model',
            cell: ({ model, provider, source }) => <Name of={model} detail={`${provider} · ${source}`} />,
          },
          { heading: 'Why it waits', kind: 'text', cell: ({ why }) => why },
          { heading: 'Since', kind: 'extra', cell: ({ since }) => moment(since) },
          {
            heading: 'Change',
            cell: ({ provider, model }) => (
              <Action
                label="Take it"
                path="prices/doubts/accept"
                fixed={{ provider, model }}
                says="All gateways price by it from the next UTC day on. The past stays as it is."
              />
            ),
          },
        ]}
      />
      {doubts.length > 1 && (
        <p class="below">
          <Action
            label="Take all"
            path="prices/doubts/accept"
            fixed={{ all: true }}
            says="All gateways price by all of these from the next UTC day on."
            isGrave
          />
        </p>
      )}
    </>
  )
}

function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <Table
      label="Differences"
      empty="What providers say is what our prices say."
      rows={differences}
      file="price-differences.csv"
      columns={[
        {
          heading: 'Model',
          cell: ({ model, provider, upstream }) => <Name of={model} detail={`${upstream} (${provider})`} />,
          value: ({ model }) => model,
        },
        { heading: 'Calls', kind: 'extra', cell: ({ calls }) => count(calls), value: ({ calls }) => calls },
        {
          heading: 'Theirs',
          cell: ({ reported_usd_text: usd }) => <Usd of={usd} />,
          value: ({ reported_usd_text: usd }) => usd,
        },
        {
          heading: 'Ours',
          cell: ({ own_usd_text: usd }) => <Usd of={usd} />,
          value: ({ own_usd_text: usd }) => usd,
        },
        {
          heading: 'Off by',
          cell: ({ reported_usd: theirs, own_usd: ours }) => percent(ours - theirs, theirs),
        },
      ]}
    />
  )
}

function PricesOf({ model }: { readonly model: string }) {
  return (
    <Part<ModelPrices> title="Its prices today" path="prices" choices={{ model }} everyMs={300_000}>
      {({ prices }) => (
        <Table
          label="Prices"
          empty="It has no price."
          rows={prices}
          columns={[
            {
              heading: 'Upstream',
              cell: ({ upstream, provider, service_tier: tier }) => (
                <Name
                  of={upstream ?? 'any'}
                  detail={[provider, tier].filter((one) => one !== null).join(' · ')}
                />
              ),
            },
            {
              heading: 'From',
              kind: 'text',
              cell: ({ source, catalog_model: name }) => `${name} (${source})`,
            },
            {
              heading: 'USD',
              kind: 'text',
              cell: ({ rates }) =>
                Object.entries(rates)
                  .map(([name, rate]) => `${name}: ${JSON.stringify(rate)}`)
                  .join(', '),
            },
          ]}
        />
      )}
    </Part>
  )
}

import type { Health } from '../answers.ts'

const WORST_FIRST = { wrong: 0, note: 1, ok: 2 }

/** What `doctor` found, the worst first. */
export function Checks({ checks }: Pick<Health, 'checks'>) {
  return (
    <ul class="checks">
      {checks
        .toSorted((a, b) => WORST_FIRST[a.state] - WORST_FIRST[b.state])
        .map(({ name, state, detail, mend }) => (
          <li key={`${name} ${detail}`} class={state}>
            <span class="state">{state}</span>
            <b>{name}</b>
            <span>
              {detail}
              {mend !== null && <em>{mend}</em>}
            </span>
          </li>
        ))}
    </ul>
  )
}

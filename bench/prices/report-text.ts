import type { Counts, Line, Summary } from './report.ts'

const MOST_LINES = 400

/** What is printed. */
export function asText(summary: Summary): string {
  return [
    `Prices of ${summary.sources.join(', ')} on ${summary.date}, ${summary.asked} calls`,
    '',
    'What three lists agree on, at the standard tier, by class',
    ...table(summary.byThree),
    '',
    'Each list as published',
    ...table(summary.bySource),
    '',
    'What at least two sources agree on',
    ...table(summary.agreed),
    '',
    'By who agrees',
    ...table(summary.pairs),
    '',
    'What one source says alone',
    ...table(summary.alone),
    '',
    'Service tiers, whichever source lists them',
    ...Object.entries(summary.tiers).map(
      ([name, { atListPrice, ...counts }]) => `${row(name, counts)}  at list price ${atListPrice}`,
    ),
    '',
    ...list('Wrong', summary.wrong),
    `Settled against them by the provider's own page: ${summary.settled.length}`,
    ...list('At the list price in spite of their tier', summary.atListPrice),
    `Sources contradict each other: ${summary.disputed.length}`,
    `Models of unknown hosts: ${summary.unknownHosts.asked} asked, ${summary.unknownHosts.priced.length} priced`,
    ...summary.unknownHosts.priced.slice(0, 20).map((line) => `  ${line}`),
    `Counted otherwise than sent: ${summary.notCounted.length}`,
    ...summary.notCounted.slice(0, 20).map(lineText),
    '',
    'Not asked, as no call through a gateway tells it',
    ...Object.entries(summary.notAsked).map(([why, count]) => `  ${count}  ${why}`),
    '',
    `of what three lists agree on: wrong ${percent(summary.shares.wrong)}, unpriced ${percent(summary.shares.unpriced)}; of tiers that two agree on: wrong ${percent(summary.shares.tiersWrong)}, unpriced ${percent(summary.shares.tiersUnpriced)}; tiers at list price ${summary.atListPrice.length}: ${summary.passes ? 'passed' : 'FAILED'}`,
    '',
  ].join('\n')
}

/** The same for reading, with the lists. */
export function asMarkdown(summary: Summary): string {
  const counts = (title: string, all: Readonly<Record<string, Counts>>) => [
    `## ${title}`,
    '',
    '| | right | wrong | settled | unpriced |',
    '|---|---|---|---|---|',
    ...Object.entries(sorted(all)).map(
      ([name, { right, wrong, settled, unpriced }]) =>
        `| ${name} | ${right} | ${wrong} | ${settled} | ${unpriced} |`,
    ),
    '',
  ]
  const lines = (title: string, all: readonly (Line & { readonly choice?: string })[]) => [
    `## ${title}: ${all.length}`,
    '',
    ...all
      .slice(0, MOST_LINES)
      .map((line) => `- ${lineText(line)}${line.choice === undefined ? '' : ` → ${line.choice}`}`),
    ...(all.length > MOST_LINES ? [`- and ${all.length - MOST_LINES} more, in prices.json`] : []),
    '',
  ]
  return [
    '# Prices beside those of others',
    '',
    `Made by \`npm run bench:prices\` on ${summary.date}: ${summary.asked} calls through a gateway with its defaults,`,
    `against ${summary.sources.join(', ')}. bench/prices/README.md says how.`,
    '',
    `Of what three lists agree on ${percent(summary.shares.wrong)} wrong, ${percent(summary.shares.unpriced)} unpriced; of tiers that two agree on ${percent(summary.shares.tiersWrong)} wrong, ${percent(summary.shares.tiersUnpriced)} unpriced.`,
    `${summary.atListPrice.length} service tiers at the list price.`,
    `Of ${summary.unknownHosts.asked} models of unknown hosts ${summary.unknownHosts.priced.length} have a price.`,
    '',
    ...counts('What at least two sources agree on', summary.agreed),
    ...counts('By who agrees', summary.pairs),
    ...counts('What one source says alone', summary.alone),
    ...counts('Service tiers', summary.tiers),
    ...lines('Wrong', summary.wrong),
    ...lines("Settled against at least two sources by the provider's own page", summary.settled),
    ...lines('At the list price in spite of their tier', summary.atListPrice),
    ...lines('Unpriced', summary.unpriced),
    ...lines('Other than the one source that says it', summary.wrongAlone),
    ...lines('Sources that contradict each other, and what is taken', summary.disputed),
    '## Not asked',
    '',
    ...Object.entries({ ...summary.notAsked, ...summary.skipped }).map(
      ([why, count]) => `- ${count}: ${why}`,
    ),
    '',
  ].join('\n')
}

function table(all: Readonly<Record<string, Counts>>): string[] {
  return Object.entries(sorted(all)).map(([name, counts]) => row(name, counts))
}

function sorted<Of>(all: Readonly<Record<string, Of>>): Record<string, Of> {
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b)))
}

function row(name: string, { right, wrong, settled, unpriced }: Counts): string {
  return `  ${name.padEnd(42)} right ${`${right}`.padStart(5)}  wrong ${`${wrong}`.padStart(4)}  settled ${`${settled}`.padStart(3)}  unpriced ${`${unpriced}`.padStart(5)}`
}

function list(title: string, lines: readonly Line[]): string[] {
  return [`${title}: ${lines.length}`, ...lines.slice(0, MOST_LINES).map((line) => `  ${lineText(line)}`), '']
}

function lineText({ provider, model, class: wanted, tier, above, ours, why, said }: Line): string {
  const where = `${provider} ${model} ${wanted}${tier === '' ? '' : ` ${tier}`}${above === 0 ? '' : ` >${above}`}`
  const others = Object.entries(said).map(([source, usd]) => `${source} ${dollars(usd)}`)
  return `${where}: ours ${ours === null ? `unpriced (${why})` : `${dollars(ours)} (${why})`}, ${others.join(', ')}`
}

function dollars(usd: number): string {
  return `$${Number(usd.toPrecision(6))}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

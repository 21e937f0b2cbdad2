import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { ALERT_KINDS, KINDS_OF_CLIENTS } from '../../doctor/conditions.ts'
import { Failure } from '../../doctor/failure.ts'
import {
  ALERT_FORMATS,
  type AlertFormat,
  type AlertKind,
  DEFAULT_THRESHOLDS,
} from '../../limits/alerts/alert-kinds.ts'
import { renderNewReceiver, renderReceiver, renderSendResult } from '../../limits/alerts/receiver-document.ts'
import {
  isAlertSecret,
  kindWithoutClient,
  readAlertKinds,
  readThresholds,
  SECRET_FORM,
  THRESHOLDS_FORM,
  urlProblem,
} from '../../limits/alerts/receiver-order.ts'
import {
  type AlertReceiver,
  addReceiver,
  removeReceiver,
  selectReceivers,
} from '../../limits/alerts/receivers.ts'
import { testReceiver } from '../../limits/alerts/test-receiver.ts'
import { renderTable } from '../../operations/table.ts'
import { parseReason } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { operatorName } from '../operator.ts'

/** `alerts add | list | remove | test`: who learns of spending and of what goes wrong. */
export function addAlertsCommands(program: Command, cli: Cli): void {
  const alerts = program.command('alerts').description('who learns of spending and of what goes wrong')
  const by = ['--by <name>', 'who does it; without: the user of the system', parseReason] as const

  alerts
    .command('add')
    .description('send alerts to a URL; what signs them is shown this once')
    .requiredOption('--url <url>', 'where they are posted', parseUrl)
    .requiredOption('--on <kinds>', `what they are about: ${ALERT_KINDS.join(',')}`, parseKinds)
    .addOption(
      new Option('--format <format>', 'how they are written').choices(ALERT_FORMATS).default('generic'),
    )
    .option('--thresholds <percents>', 'of budgets', parseThresholds, DEFAULT_THRESHOLDS)
    .option('--client <name>', 'only what is about this client')
    .option('--secret-file <file>', 'what signs them, in place of a random text')
    .option(...by)
    .action(async (options: AddOptions) => {
      const { url, on: kinds, format, thresholds, client = null, secretFile } = options
      const secret = secretFile === undefined ? null : readSecret(secretFile)
      const order = { url, kinds, format, thresholds, client, secret }
      const misfit = kindWithoutClient(order, KINDS_OF_CLIENTS)
      if (misfit !== null) throw new Failure(`${misfit} is about no single client: leave out --client`)
      const who = options.by ?? operatorName()
      const added = await cli.withServers(({ pool }) => addReceiver(pool, order, who))
      if (added === null) throw new Failure(`there is no client named ${client}`)
      const shown = secret === null ? `${added.secret}\n\nIt signs the alerts, and is shown this once. ` : ''
      cli.print(
        secret === null ? renderNewReceiver(added) : renderReceiver(added),
        `${shown}${added.id} gets ${kinds.join(', ')}. Try it: alerts test ${added.id}`,
      )
    })

  alerts
    .command('list')
    .description('show who gets alerts, and how the last delivery went')
    .action(async () => {
      const receivers = await cli.withServers(({ pool }) => selectReceivers(pool))
      cli.print(receivers.map(renderReceiver), table(receivers))
    })

  alerts
    .command('remove')
    .description('send no more alerts there; those under way are dropped')
    .argument('<id>', 'as alerts list shows it')
    .option(...by)
    .action(async (id: string, options: { readonly by?: string }) => {
      const who = options.by ?? operatorName()
      const removed = await cli.withServers(({ pool }) => removeReceiver(pool, id, who))
      if (removed === null) throw noReceiver(id)
      cli.print(renderReceiver(removed), `${id} gets no more alerts.`)
    })

  alerts
    .command('test')
    .description('send a signed sample now, and say what came back')
    .argument('<id>', 'as alerts list shows it')
    .action(async (id: string) => {
      const tested = await cli.withServers(({ pool }) => testReceiver(pool, id))
      if (tested === null) throw noReceiver(id)
      const { delivery, result } = tested
      const text =
        result.kind === 'delivered' ? `It answered ${result.status}.` : `Not delivered: ${result.error}.`
      cli.print(renderSendResult(delivery, result), text)
      if (result.kind !== 'delivered') cli.fail()
    })
}

interface AddOptions {
  readonly url: string
  readonly on: readonly AlertKind[]
  readonly format: AlertFormat
  readonly thresholds: readonly number[]
  readonly client?: string
  readonly secretFile?: string
  readonly by?: string
}

function noReceiver(id: string): Failure {
  return new Failure(`there is no receiver ${id}; alerts list shows them`)
}

function parseUrl(text: string): string {
  const problem = urlProblem(text)
  if (problem === null) return text
  throw new InvalidArgumentError(`It ${problem}.`)
}

function parseKinds(text: string): readonly AlertKind[] {
  const kinds = readAlertKinds(
    text.split(',').map((name) => name.trim()),
    ALERT_KINDS,
  )
  if (kinds !== null) return kinds
  throw new InvalidArgumentError(`Write some of ${ALERT_KINDS.join(', ')}, parted by commas.`)
}

function parseThresholds(text: string): readonly number[] {
  const percents = text.split(',').map((percent) => percent.trim())
  const isPlain = percents.every((percent) => /^[0-9]{1,4}$/.test(percent))
  const thresholds = isPlain ? readThresholds(percents.map(Number)) : null
  if (thresholds !== null) return thresholds
  throw new InvalidArgumentError(`Write ${THRESHOLDS_FORM}, parted by commas.`)
}

/** One line break at its end is an editor's. */
function readSecret(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (isAlertSecret(text)) return text
  throw new Failure(`${file} must hold ${SECRET_FORM}`)
}

function table(receivers: readonly AlertReceiver[]): string {
  if (receivers.length === 0) return 'There is no receiver yet: alerts add --url URL --on budget'
  const headings = ['ID', 'ON', 'CLIENT', 'THRESHOLDS', 'FORMAT', 'LAST DELIVERY', 'URL']
  return renderTable(
    headings.map((heading) => ({ heading })),
    receivers.map((receiver) => [
      receiver.id,
      receiver.kinds.join(','),
      receiver.client ?? 'all',
      receiver.kinds.includes('budget') ? `${receiver.thresholds.join(',')} %` : '',
      receiver.format,
      lastText(receiver),
      receiver.url,
    ]),
  )
}

function lastText({ lastDelivery: last }: AlertReceiver): string {
  if (last === null) return 'none yet'
  const at = `${last.triedAt.toISOString().slice(0, 16)}Z`
  return last.state === 'delivered' ? `${at} delivered` : `${at} ${last.error ?? 'under way'}`
}

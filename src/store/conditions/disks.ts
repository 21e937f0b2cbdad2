import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import type { Condition } from './condition.ts'
import { selectLiving } from './processes.ts'

const FILLED_PERCENT = 90
const REPAIR = 'free space on it, or give JOURNAL_DIR a larger disk; calls go on by themselves then'
/** With so much room, journals fill no disk within hours: it is a hint. */
const ROOMY_MIB = 10_240

interface Disk {
  readonly process: string
  readonly percent: number
  readonly freeMib: number
  /** It takes nothing more. */
  readonly isFull: boolean
  /** It takes little more. */
  readonly isFilled: boolean
}

/** The disks of the journals of gateways that run. */
async function selectDisks(pool: Postgres): Promise<readonly Disk[]> {
  return (await selectLiving(pool)).flatMap(({ process, report }) => {
    const { diskBytes, diskFreeBytes, journalWritable } = report
    if (diskBytes === null || diskFreeBytes === null) return []
    const percent = diskBytes === 0 ? 0 : Math.floor(100 - (diskFreeBytes / diskBytes) * 100)
    const freeMib = Math.floor(diskFreeBytes / 1_048_576)
    const isFull = journalWritable === false || diskFreeBytes === 0
    const isFilled = isFull || (percent >= FILLED_PERCENT && freeMib < ROOMY_MIB)
    return [{ process, percent, freeMib, isFull, isFilled }]
  })
}

async function checkDisks(pool: Postgres): Promise<Finding> {
  const disks = await selectDisks(pool)
  const filled = disks.filter(({ percent, isFull }) => isFull || percent >= FILLED_PERCENT)
  if (filled.length === 0) {
    const fullest = Math.max(0, ...disks.map(({ percent }) => percent))
    return ok('disks', `${disks.length} gateways write to disks that are ${fullest} % full at most`)
  }
  const named = filled.map(
    ({ process, percent, freeMib, isFull }) =>
      `gateway ${process}: ${isFull ? 'takes nothing more' : `${percent} %`}, ${freeMib} MiB are free`,
  )
  const isFull = filled.some((disk) => disk.isFull)
  return (filled.some(({ isFilled }) => isFilled) ? failure : warning)(
    'disks',
    `the disk of the journal is ${isFull ? 'full, so calls are refused or pass unmetered' : 'nearly full'}: ${named.join('; ')}`,
    REPAIR,
  )
}

async function findFullDisks(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const filled = (await selectDisks(pool)).filter(({ isFilled }) => isFilled)
  return filled.map(({ process, percent, freeMib, isFull }) =>
    dailyOccurrence(isFull ? `${process} full` : process, day, {
      message: withRepair(
        `The disk of the journal of gateway ${process} ${isFull ? 'takes nothing more' : `is ${percent} % full`}`,
        REPAIR,
      ),
      gateway: process,
      percent,
      free_mib: freeMib,
    }),
  )
}

export const DISKS: Condition = {
  name: 'disks',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: FILLED_PERCENT, unit: '%' },
  find: ({ pool }) => checkDisks(pool),
  alert: {
    kind: 'disk',
    meaning: `the disk of a journal is ${FILLED_PERCENT} % full, or takes nothing more`,
    ofClient: false,
    when: 'at once',
    finders: [({ pool }, { today }) => findFullDisks(pool, today)],
  },
  gauges: [
    {
      name: 'tallygate_journal_disk_bytes',
      help: 'Size of the disk that has the journal; NaN: not known.',
      aggregator: 'min',
      read: ({ disk }) => disk?.bytes ?? Number.NaN,
    },
    {
      name: 'tallygate_journal_disk_free_bytes',
      help: 'What is free of it.',
      aggregator: 'min',
      read: ({ disk }) => disk?.freeBytes ?? Number.NaN,
    },
  ],
  rules: [
    {
      name: 'JournalDiskFills',
      expr: `tallygate_journal_disk_free_bytes * 100 < ${100 - FILLED_PERCENT} * tallygate_journal_disk_bytes`,
      for: '5m',
      severity: 'ticket',
      summary: `The disk of the journal is ${FILLED_PERCENT} % full: free space on it, or give \`JOURNAL_DIR\` a larger one.`,
    },
  ],
}

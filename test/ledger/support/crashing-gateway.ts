// A gateway's ledger in a process of its own, to be killed. Arguments: journal directory, Redis URL, prefix, the number
// of the first call, and of shards. Says `opened N` and `closed N` only after the ledger has said so, as a client would see it.
import { writeSync } from 'node:fs'
import { streamNames } from '../../../src/domain/redis/redis-names.ts'
import { openLedger } from '../../../src/ledger/running-ledger.ts'
import { callRecord, interruptedRecord, openCall } from './calls.ts'

const [, , journalDir = '', redisUrl = '', redisPrefix = '', first = '0', shards = '1'] = process.argv

const ledger = await openLedger({
  journalDir,
  journalMaxBytes: 1024 * 1024 * 1024,
  keepSeconds: 300,
  redisUrl,
  redisPrefix,
  streams: streamNames(redisPrefix, Number(shards)),
  // This process ships, and never learns what was committed: its adopters do.
  database: {
    readCommittedOffsets: () => Promise.reject(new Error('away')),
    readGaps: () => Promise.reject(new Error('away')),
    readDatabaseId: async () => 'a',
    registerStream: async () => {},
  },
  buildInterrupted: interruptedRecord,
  log: { info: () => {}, warn: () => {}, error: () => {} },
})

const say = (line: string): void => {
  writeSync(1, `${line}\n`)
}

function call(number: number, turnsToRun: number): void {
  const client = { clientId: `client-${number % 16}` }
  ledger.open({ ...openCall(number), ...client }, (refused) => {
    if (refused !== null) return
    say(`opened ${number}`)
    const end = (turns: number): void => {
      if (turns > 0) return void setImmediate(() => end(turns - 1))
      ledger.close({ ...callRecord(number), ...client }, (error) => {
        if (error === null) say(`closed ${number}`)
      })
    }
    end(turnsToRun)
  })
}

let number = Number(first)
const burst = (): void => {
  for (let count = 0; count < 20; count++) {
    call(number, number % 11)
    number++
  }
  setImmediate(burst)
}
burst()

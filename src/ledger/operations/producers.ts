import { shownCount, shownDocument } from '../../operations/answers.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { FOLD_DAYS, foldProducers } from '../../store/ledger/folded-producers.ts'

const prune = operation({
  name: 'producers.prune',
  summary: `Folds producers that have not moved for ${FOLD_DAYS} days into one row a stream.`,
  description:
    'Workers do so once a day. Sums stay what they are, and a journal that turns up later goes on from its committed offset.',
  role: 'write',
  http: { method: 'POST', path: '/producers/prune', id: 'pruneProducers' },
  input: {},
  answer: shownDocument('PrunedProducers', { folded: shownCount('How many were folded now.') }),
  gives: 'How many were folded.',
  changes: {
    event: 'admin.producers_pruned',
    says: 'producers of long ago were folded',
    inParts: true,
    log: ({ folded }) => ({ folded }),
  },
  run: async ({ pool }: Ports) => ({ folded: await foldProducers(pool, FOLD_DAYS) }),
  command: {
    words: 'producers prune',
    print: ({ folded }) =>
      folded === 0
        ? `No producer has rested for ${FOLD_DAYS} days.`
        : `Folded ${folded} producers that have not moved for ${FOLD_DAYS} days.`,
  },
})

export const PRODUCERS_CHAPTER: Chapter<Ports> = {
  words: 'producers',
  about: 'Runs of gateways, as the ledger knows them.',
  operations: [prune],
}

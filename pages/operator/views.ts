import type { View } from '../shared/page.tsx'
import { Explore } from './views/explore.tsx'
import { LedgerView } from './views/ledger.tsx'
import { LimitsView } from './views/limits.tsx'
import { Overview } from './views/overview.tsx'

/** The views of the operator's page, in the order of its navigation. */
export const VIEWS: readonly View[] = [
  { name: 'overview', title: 'Overview', content: Overview },
  { name: 'explore', title: 'Explore', content: Explore },
  { name: 'limits', title: 'Limits', content: LimitsView },
  { name: 'ledger', title: 'Ledger', content: LedgerView },
]

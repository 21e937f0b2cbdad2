import type { View } from '../shared/page.tsx'
import { AlertsView } from './views/alerts.tsx'
import { AuditView } from './views/audit.tsx'
import { CallsView } from './views/calls.tsx'
import { ClientsView } from './views/clients.tsx'
import { Explore } from './views/explore.tsx'
import { KeysView } from './views/keys.tsx'
import { LedgerView } from './views/ledger.tsx'
import { LimitsView } from './views/limits.tsx'
import { Overview } from './views/overview.tsx'
import { PricesView } from './views/prices.tsx'

/** The views of the operator's page, in the order of its navigation. */
export const VIEWS: readonly View[] = [
  { name: 'overview', title: 'Overview', content: Overview },
  { name: 'explore', title: 'Explore', content: Explore },
  { name: 'calls', title: 'Calls', content: CallsView },
  { name: 'clients', title: 'Clients', content: ClientsView },
  { name: 'keys', title: 'Keys', content: KeysView },
  { name: 'limits', title: 'Limits', content: LimitsView },
  { name: 'alerts', title: 'Alerts', content: AlertsView },
  { name: 'prices', title: 'Prices', content: PricesView },
  { name: 'ledger', title: 'Ledger', content: LedgerView },
  { name: 'audit', title: 'Audit', content: AuditView },
]

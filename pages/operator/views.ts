import type { View } from '../shared/page.tsx'
import { AlertsView } from './views/alerts.tsx'
import { AuditView } from './views/audit.tsx'
import { CallsView } from './views/calls.tsx'
import { ChargesView } from './views/charges.tsx'
import { ClientsView } from './views/clients.tsx'
import { Explore } from './views/explore.tsx'
import { GroupsView } from './views/groups.tsx'
import { InvoicesView } from './views/invoices.tsx'
import { KeysView } from './views/keys.tsx'
import { LedgerView } from './views/ledger.tsx'
import { LimitsView } from './views/limits.tsx'
import { Overview } from './views/overview.tsx'
import { PricesView } from './views/prices.tsx'
import { StatementsView } from './views/statements.tsx'

/** The views of the operator's page, in the order of its navigation. */
export const VIEWS: readonly View[] = [
  { name: 'overview', title: 'Overview', content: Overview },
  { name: 'explore', title: 'Explore', content: Explore },
  { name: 'calls', title: 'Calls', content: CallsView },
  { name: 'clients', title: 'Clients', content: ClientsView },
  { name: 'groups', title: 'Groups', content: GroupsView },
  { name: 'keys', title: 'Keys', content: KeysView },
  { name: 'limits', title: 'Limits', content: LimitsView },
  { name: 'alerts', title: 'Alerts', content: AlertsView },
  { name: 'prices', title: 'Prices', content: PricesView },
  { name: 'charges', title: 'Charges', content: ChargesView },
  { name: 'invoices', title: 'Invoices', content: InvoicesView },
  { name: 'statements', title: 'Statements', content: StatementsView },
  { name: 'ledger', title: 'Ledger', content: LedgerView },
  { name: 'audit', title: 'Audit', content: AuditView },
]

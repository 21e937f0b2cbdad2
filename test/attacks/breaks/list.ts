import type { Attack } from '../world.ts'
import { BACKGROUND } from './background.ts'
import { BUDGETS } from './budgets.ts'
import { DENIAL } from './denial.ts'
import { ANSWER_FORMS, OTHER_FORMS } from './forms.ts'
import { LEFT_EARLY } from './left.ts'
import { OBJECTS } from './objects.ts'
import { SESSIONS } from './sessions.ts'

/** Every break that was found at 105faaa8, by its letter there. */
export const BREAKS: readonly Attack[] = [
  ...LEFT_EARLY,
  ...SESSIONS,
  ...BACKGROUND,
  ...ANSWER_FORMS,
  ...OTHER_FORMS,
  ...BUDGETS,
  ...OBJECTS,
  ...DENIAL,
].sort((one, other) => one.id.localeCompare(other.id, 'en', { numeric: true }))

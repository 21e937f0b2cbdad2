/** Calls that named an unknown model are totalled under this. */
export const UNKNOWN_MODEL = '(unknown)'
/** Calls that named no model are totalled under this. */
export const NO_MODEL = '(none)'

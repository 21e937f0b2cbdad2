/**
 * The Postgres schema that holds every table of ours. SQL names it in full: behind a pooler that lends a connection
 * for one transaction only, a `search_path` set for the session would reach other clients, or be lost.
 */
export const SCHEMA = 'tallygate'

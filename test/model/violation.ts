/** A promise of docs/guarantees.md was broken. */
export class Violation extends Error {}

/** What in a request changes the form of an answer, so that its usage would not be found. */
export interface AnswerForm {
  /** Query parameters by name in lower case, each with the values that may pass; `null`: none. */
  readonly parameters: ReadonlyMap<string, RegExp | null>
  /** Headers in lower case, which are dropped. */
  readonly headers: readonly string[]
}

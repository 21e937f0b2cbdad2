/** How a provider counts and bills, apart from its rates. */
export interface BillingRules {
  /** The least that a request with audio is billed for, in milliseconds; 0: what it has. */
  readonly minimumAudioMs: number
  /** Reasoning is never part of the output it reports. */
  readonly reasoningIsBeside: boolean
  /** Audio and image tokens never cost what text tokens do: without a rate of their own they have none. */
  readonly mediaIsApart: boolean
  /** Seconds of audio are billed beside its tokens, not in their place. */
  readonly secondsAreBeside: boolean
}

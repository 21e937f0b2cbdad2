import type { Observation, PromptLengths, UsagePart } from '../../call/observation.ts'
import {
  type BilledUnits,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenClass,
  type TokenUsage,
} from '../../call/usage.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { addUnits } from './billed-units.ts'
import { addCounts, createUsageSum, sumUsage } from './counts.ts'
import { promptSizeOf } from './prompt-sizes.ts'

/** The use that one response of a session reports, or other work in it. */
export interface SessionUse extends UsagePart {
  /** At least one of its counts was impossible, and is `null` in `usage`. */
  readonly invalid: boolean
  readonly totalMismatch?: boolean
  /** Uses by model, of a response that several models served. */
  readonly parts?: readonly UsagePart[] | null
  /** The text of its usage. */
  readonly raw: string | null
}

/**
 * Usage added up over one session, by what prices depend on: model, tier, and how long a prompt was. An impossible
 * count costs the response that reported it, not the others.
 */
export interface SessionSum {
  add(use: SessionUse): void
  /** `model` was used, and how much is not known. */
  unread(model: string | null, isBeside?: true): void
  /**
   * The usage that the sum says. `units` are those of parts; a session's other units belong to none.
   *
   * @param own the model that the session's other figures belong to
   * @param isFinal no response is under way
   * @param tier that of the call; absent: no part has one of its own
   */
  observed(
    own: string | null,
    isFinal: boolean,
    tier?: string | null,
  ): Pick<Observation, 'usageSource' | 'usage' | 'units' | 'raw' | 'totalMismatch' | 'parts'>
}

/** Kept apart; further ones have no price. */
const MAX_PARTS = 32

export function createSessionSum(): SessionSum {
  const sum = createUsageSum()
  const parts = new Map<string, UsagePart>()
  const unread = new Map<string, UsagePart>()
  /** One of the figures was possible. */
  let isSound = false
  let total: TokenUsage = NO_USAGE

  function addPart(part: UsagePart): void {
    const isNew = !parts.has(keyOf(part)) && parts.size >= MAX_PARTS
    const kept: UsagePart = isNew ? { ...part, model: UNKNOWN_MODEL, isBeside: true } : part
    const earlier = parts.get(keyOf(kept))
    parts.set(keyOf(kept), earlier === undefined ? kept : sumParts(earlier, kept))
  }

  const session: SessionSum = {
    add({ invalid, totalMismatch = false, parts: within = null, raw, ...part }) {
      const whole = sumIfPossible([total, part.usage])
      const isOdd = invalid || whole === null || exceedsItsWhole(part.usage)
      if (isOdd) session.unread(part.model, part.isBeside)
      else isSound = true
      // The totals of an odd one stand, where they are possible: they are not less than what is known.
      const { inputTokens, outputTokens } = whole === null ? NO_USAGE : part.usage
      const usage = isOdd ? { ...NO_USAGE, inputTokens, outputTokens } : part.usage
      // The tokens of a session are those of the model that answers; others' are in its parts, and in its cost.
      sum.add({ usage: part.isBeside ? NO_USAGE : usage, invalid: false }, totalMismatch, raw)
      total = sumUsage([total, usage])
      const { serviceTier } = part
      if (within === null || isOdd) addPart({ ...part, usage })
      else
        for (const one of within)
          addPart({ ...one, serviceTier, ...(one.model === part.model ? {} : { isBeside: true }) })
    },
    unread(model, isBeside) {
      const part: UsagePart = { model, usage: NO_USAGE, isBeside, isUnread: true }
      unread.set(keyOf(part), part)
    },
    observed(own, isFinal, tier = null) {
      const all = [...parts.values(), ...unread.values()]
      const observed = sum.observed(isFinal)
      const isOdd = !isSound && unread.size > 0
      return {
        ...observed,
        usageSource: isOdd ? 'invalid' : observed.usageSource,
        units: unitsOfParts(all),
        parts: all.length < 2 && all.every((part) => isPlain(part, own, tier)) ? null : all,
      }
    },
  }
  return session
}

/** Adds `more` of the same to what was observed of a session: estimates of what was not reported. */
export function withParts(observed: Observation, more: readonly UsagePart[]): Observation {
  const { model, usage, units, parts, serviceTier } = observed
  const whole = sumUsage([usage, ...more.filter((part) => part.isBeside !== true).map((part) => part.usage)])
  const isOwn =
    parts === null &&
    more.every((part) => isPlain(part, model, serviceTier) && sizeOf(part.usage) === sizeOf(whole))
  return {
    ...observed,
    usage: whole,
    units: addUnits(units, unitsOfParts(more)),
    parts: isOwn ? null : [...(parts ?? [{ model, usage }]), ...more],
  }
}

function keyOf(part: UsagePart): string {
  const { model, mayBe, isBeside, isUnread, serviceTier, usage, prompts } = part
  const size = prompts === undefined ? sizeOf(usage) : promptSizeOf(prompts.longest)
  return JSON.stringify([model, isBeside === true, isUnread === true, serviceTier, size, mayBe])
}

function sizeOf({ inputTokens }: TokenUsage): number {
  return promptSizeOf(inputTokens ?? 0)
}

/**
 * Tells whether nothing but a session's own model at its tier is in it, and the sum costs what one prompt of its length
 * would, so that no parts are needed.
 */
function isPlain(part: UsagePart, own: string | null, tier: string | null): boolean {
  const { model, isBeside, isUnread, usage, prompts, serviceTier = tier } = part
  if (model !== own || isBeside === true || isUnread === true || serviceTier !== tier) return false
  return prompts === undefined || promptSizeOf(prompts.longest) === sizeOf(usage)
}

function sumParts(one: UsagePart, other: UsagePart): UsagePart {
  const units = unitsOfParts([one, other])
  const [first, second] = [promptsOf(one), promptsOf(other)]
  return {
    ...one,
    usage: sumUsage([one.usage, other.usage]),
    prompts: {
      shortest: Math.min(first.shortest, second.shortest),
      longest: Math.max(first.longest, second.longest),
    },
    ...(units === NO_UNITS ? {} : { units }),
  }
}

function promptsOf({ prompts, usage: { inputTokens } }: UsagePart): PromptLengths {
  return prompts ?? { shortest: inputTokens ?? 0, longest: inputTokens ?? 0 }
}

function unitsOfParts(parts: readonly UsagePart[]): BilledUnits {
  return parts.reduce((sum, { units = NO_UNITS }) => addUnits(sum, units), NO_UNITS)
}

/** `null`: a sum that no call can have. */
function sumIfPossible(usages: readonly TokenUsage[]): TokenUsage | null {
  const sums = TOKEN_CLASSES.map((name) => addCounts(...usages.map((usage) => usage[name])))
  return sums.includes('invalid') ? null : sumUsage(usages)
}

/** A part that is larger than what it is part of would leave the whole sum without a price. */
function exceedsItsWhole(usage: TokenUsage): boolean {
  const sum = (...names: readonly TokenClass[]) => names.reduce((all, name) => all + (usage[name] ?? 0), 0)
  const { inputTokens, outputTokens } = usage
  return (
    (inputTokens !== null &&
      Math.max(
        sum('cacheReadTokens', 'cacheWriteTokens'),
        sum('audioInputTokens', 'imageInputTokens', 'videoInputTokens'),
      ) > inputTokens) ||
    (outputTokens !== null && sum('audioOutputTokens', 'imageOutputTokens') > outputTokens)
  )
}

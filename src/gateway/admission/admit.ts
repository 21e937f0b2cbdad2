import type { TrustedProxy } from '../../config/yaml/identity-config.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import type { CallRefusal } from '../../http/errors.ts'
import type { Admission, AdmissionOptions, Moment, Stages } from './admission.ts'
import { readAxes } from './stages/axes.ts'
import { checkAnswerForm, planBody, requireModelFirst } from './stages/body.ts'
import { findCaller, readCredential } from './stages/credential.ts'
import { readInnerRequest } from './stages/inner-request.ts'
import { checkLedger, checkUnattended } from './stages/ledger.ts'
import { checkLimits } from './stages/limits.ts'
import { checkModel } from './stages/model-access.ts'
import { checkEndedJobs, checkObjects, checkReach, readNames } from './stages/objects.ts'
import { readPoll } from './stages/poll.ts'
import { checkSignature, checkSignedBody } from './stages/signature.ts'
import {
  checkFragment,
  checkHost,
  checkPath,
  readTarget,
  refuseOwnOperation,
  routeByHead,
  routeByModel,
} from './stages/target.ts'
import { readTool } from './stages/tool.ts'
import { checkUpstreamCredential } from './stages/upstream-credential.ts'
import { vouchedBy } from './stages/vouched.ts'

/**
 * The stages that every call passes, by HTTP or by WebSocket, in the order in which they run. The first stage
 * that refuses ends the call: the journal has not heard of it, and nothing went upstream. After the last
 * stage, `openCall` writes the call to the journal.
 *
 * A new stage is one file in `stages/` and one line here. A stage that takes something for the length of a
 * call (a slot, a lease) gives it to `Admission.hold`. A stage that keeps counts over calls is made by a call
 * here (`limitRequests()`), so that each gateway has counts of its own.
 *
 * @param proxy Whose headers are trusted; `null`: those of none.
 */
export function buildStages(proxy: TrustedProxy | null = null): Stages {
  return {
    /** Every request, with or without a key. */
    arrival: [
      // First: servers differ in where such a target ends, so every later stage might judge another request.
      checkFragment,
      // Before the key: a request without Host may have been smuggled into another one, key included.
      checkHost,
    ],
    /** Every request that needs a key, also for the gateway's own operations. */
    caller: [
      // Before the key, which who is vouched for does not need.
      ...(proxy === null ? [] : [vouchedBy(proxy)]),
      // Before the target is read: this takes the key out of the URL, and nothing later may see it there.
      readCredential,
      // Before anything that depends on configuration: without a key, a client learns nothing about
      // upstreams.
      findCaller,
      // After the caller: a signature is checked by the secret of the key that it names.
      checkSignature,
    ],
    /** Every call, before its body is read. */
    head: [
      // Before all that judge by path: they need the canonical one.
      readTarget,
      // Before the route: the gateway's own operations have no upstream.
      refuseOwnOperation,
      // Before more work is done: while the journal is full, every call is refused, and that has to stay
      // cheap.
      checkLedger,
      // Before the path rules: an upstream may have its own, written without its prefix.
      routeByHead,
      // Before the body is read: a call to a refused path does not wait for its upload.
      checkPath,
      // Before the body is read: a call that is not made does not wait for its upload.
      checkUnattended,
      // Last before the body: the dialect of the route says how to read it.
      planBody,
    ],
    /** Every call, once its body is read as planned. */
    model: [
      // First: until then a caller who signed is only said to be one.
      checkSignedBody,
      // Before the model chooses the route: in an upload, another model may follow.
      requireModelFirst,
      // Before the other checks: each depends on the upstream.
      routeByModel,
      // After the route: its dialect says whether tools are called, and each has limits and a price of its own.
      readTool,
      // After the route: its dialect says where the model stands. Before all that asks for it.
      readInnerRequest,
      // After the route: its dialect knows such requests. Before all that asks whether a model runs.
      readPoll,
      // Again, for calls whose upstream was unknown until now; the others pass at once.
      checkPath,
      // After the route: whether names matter depends on the upstream.
      readNames,
      // After the route and the names: they say where a call names its models.
      checkModel,
      // After the route: its provider and dialect know what changes the form of an answer.
      checkAnswerForm,
      // After the models, which are refused to a key whatever else there is: a body may read all of the account.
      checkReach,
      // Behind the others: this one may have to wait for a store.
      checkObjects,
      // After all that judges the call itself: it may have to wait. Before what asks the upstream.
      checkUpstreamCredential,
      // After the owner: it asks the upstream. Before the limits: nothing is to be held meanwhile.
      checkEndedJobs,
      // Before the limits, which may hold for a value.
      readAxes,
      // Last of all: what another stage refuses must take nothing of its client's limits. So it is also the limits on
      // requests that wait for the body: taken before, they would have to be given back to a window that has moved on.
      checkLimits,
    ],
  }
}

/** Counts the refusal of a call, by its client, key, model and limit where these are known. */
export function countRefusal(
  { error, reason = error, limitId = '' }: CallRefusal,
  admission: Admission,
  { refused, refusedUnknown }: Pick<AdmissionOptions, 'refused' | 'refusedUnknown'>,
): void {
  // The id of a key is public, and anyone may write it.
  if (admission.hasCaller && admission.signature?.isProven !== false) {
    const { clientId, keyId } = admission.caller
    refused({ clientId, keyId, model: cleanModel(admission.askedModel) ?? '', limitId, reason })
  } else refusedUnknown(reason, admission.refusedOwner)
}

const FAILED: CallRefusal = { error: 'internal_error' }

/** All moments, for a door that has nothing to do between them. */
export const MOMENTS: readonly Moment[] = ['arrival', 'caller', 'head', 'model']

/**
 * Runs the stages of one moment in order, until one refuses. Never throws: a stage that does refuses the
 * call.
 *
 * @returns Why the call is refused, or `null`. A promise, which never rejects, only where a stage had to
 *   wait.
 */
export function admit(
  moment: Moment,
  admission: Admission,
  options: AdmissionOptions,
  from = 0,
): CallRefusal | null | Promise<CallRefusal | null> {
  const stages = options.stages[moment]
  try {
    for (let at = from; at < stages.length; at += 1) {
      const found = stages[at]?.(admission, options) ?? null
      if (found === null) continue
      if (!(found instanceof Promise)) return found
      return found.then(
        (refusal) => refusal ?? admit(moment, admission, options, at + 1),
        (error: unknown) => fail(error, options),
      )
    }
    return null
  } catch (error) {
    return fail(error, options)
  }
}

function fail(error: unknown, options: AdmissionOptions): CallRefusal {
  options.stageFailed(error)
  return FAILED
}

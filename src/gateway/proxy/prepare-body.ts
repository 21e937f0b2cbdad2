import { joinInSlices, slicedWork, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { type JsonObject, objectIn } from '../../providers/reading/json-value.ts'
import { JsonScanner, type Projection } from '../../providers/wires/json.ts'
import type { Admission } from '../admission/admission.ts'
import type { CallBody } from '../bodies/body-reading.ts'
import {
  asksForUsage,
  type BodyEdit,
  editedBody,
  editedParts,
  includeUsageEdit,
} from '../bodies/include-usage.ts'
import type { RequestScan } from '../bodies/request-body.ts'
import type { RouteChoice } from '../routing/upstream-table.ts'

type Done = (body: CallBody | 'gone') => void

/**
 * Makes of an admitted call's body what goes upstream: edited to ask for the usage where the answer would not
 * tell it, else as it came, with what the endpoint's dialect wants to know of it. Calls back once, in this
 * turn for all but large bodies; `gone`: the client left meanwhile.
 */
export function prepareBody(admission: Admission, done: Done): void {
  const { body, route } = admission
  const { plain, scan } = body
  if (plain === null || scan === null) {
    done(body)
    return
  }
  const usage = asksForUsage(route) ? includeUsageEdit(scan) : null
  const model = route.choice === null ? null : modelEdit(scan, route.choice)
  if (model !== null) {
    const edits = usage === null ? [model] : [model, usage]
    // What an endpoint wants to know is nothing of the model's name.
    readFields(admission, plain, (read) =>
      read === 'gone' ? done(read) : edit(admission, read, plain, edits, usage !== null, done),
    )
  } else if (usage !== null) {
    edit(admission, body, plain, [usage], true, done)
  } else {
    readFields(admission, plain, done)
  }
}

/** Writes the model's name at its target; `null`: the body does not name it, or it is called the same there. */
function modelEdit(
  { model, modelStart, modelEnd }: RequestScan,
  { asked, model: sent, written }: RouteChoice,
): BodyEdit | null {
  if (model === null || sent === asked) return null
  const bytes =
    model === asked
      ? written
      : model === GOOGLE_PREFIX + asked
        ? Buffer.from(JSON.stringify(GOOGLE_PREFIX + sent))
        : null
  return bytes === null ? null : { start: modelStart, end: modelEnd, bytes }
}

/** Google's libraries write it before names in bodies. */
const GOOGLE_PREFIX = 'models/'

function edit(
  admission: Admission,
  body: CallBody,
  plain: Buffer,
  edits: readonly BodyEdit[],
  asksForUsage: boolean,
  done: Done,
): void {
  if (plain.length <= WHOLE_BYTES) {
    done(edited(body, editedBody(plain, edits), asksForUsage))
    return
  }
  joinInSlices(admission.caller.clientId, editedParts(plain, edits), (joined) =>
    done(admission.client.destroyed ? 'gone' : edited(body, joined, asksForUsage)),
  )
}

/** Scanned between two readings of the clock: 0.3 ms at worst. */
const WINDOW_BYTES = 64 * 1024

/**
 * Reads what an endpoint's dialect needs to know of its request. Most need nothing, and then this is not
 * called. A body of more than {@link WHOLE_BYTES} is read in slices, between which the event loop serves
 * other calls.
 *
 * @param body one JSON object, as its reader gets it.
 * @param isWanted asked before each slice; false ends the reading.
 * @param done gets the values at the paths of the projection, or `null` where one stands there twice: what it
 *   means depends on the parser. `'gone'`: the reading was not wanted any more.
 */
export function readRequestFields(
  clientId: string,
  body: Buffer,
  projection: Projection,
  isWanted: () => boolean,
  done: (fields: JsonObject | null | 'gone') => void,
): void {
  const scanner = new JsonScanner(projection, true)
  if (body.length <= WHOLE_BYTES) {
    scanner.push(body)
    done(fieldsIn(scanner))
    return
  }
  let at = 0
  slicedWork.run(clientId, (deadline) => {
    if (!isWanted()) {
      done('gone')
      return true
    }
    do {
      scanner.push(body.subarray(at, at + WINDOW_BYTES))
      at += WINDOW_BYTES
      if (at >= body.length) {
        done(fieldsIn(scanner))
        return true
      }
    } while (performance.now() < deadline)
    return false
  })
}

function fieldsIn(scanner: JsonScanner): JsonObject | null {
  scanner.end()
  return scanner.isAmbiguous ? null : objectIn(scanner.extracted.value)
}

/** Most dialects want to know nothing. */
function readFields(admission: Admission, plain: Buffer, done: Done): void {
  const { body, route, caller, client } = admission
  const projection = route.dialect?.requestProjection
  if (projection === undefined || body.scan?.readable !== true) {
    done(body)
    return
  }
  const isWanted = () => !client.destroyed
  readRequestFields(caller.clientId, plain, projection, isWanted, (fields) =>
    done(fields === 'gone' ? 'gone' : { ...body, fields }),
  )
}

function edited(body: CallBody, bytes: Buffer, asksForUsage: boolean): CallBody {
  return { ...body, sent: bytes, plain: bytes, isEdited: true, asksForUsage }
}

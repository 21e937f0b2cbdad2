import { slicedWork, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { type JsonObject, objectIn } from '../../providers/reading/json-value.ts'
import { JsonScanner, type Projection } from '../../providers/wires/json.ts'

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

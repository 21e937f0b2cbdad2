import { joinInSlices, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { Admission } from '../admission/admission.ts'
import type { CallBody } from '../bodies/call-body.ts'
import { asksForUsage, spliceIncludeUsage } from '../bodies/include-usage.ts'
import { readRequestFields } from '../bodies/request-fields.ts'

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
  const parts = asksForUsage(route) ? spliceIncludeUsage(plain, scan) : null
  if (parts === null) {
    readFields(admission, plain, done)
  } else if (plain.length <= WHOLE_BYTES) {
    done(edited(body, Buffer.concat(parts)))
  } else {
    joinInSlices(admission.caller.clientId, parts, (joined) =>
      done(admission.client.destroyed ? 'gone' : edited(body, joined)),
    )
  }
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

function edited(body: CallBody, bytes: Buffer): CallBody {
  return { ...body, sent: bytes, plain: bytes, isEdited: true }
}

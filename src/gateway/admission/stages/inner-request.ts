import type { InnerRequest } from '../../../providers/dialect.ts'
import type { RequestScan, Wanted } from '../../bodies/request-body.ts'
import type { Admission } from '../admission.ts'
import { isSure, scanned } from './tool.ts'

/**
 * Reads the model and the size of a request that stands in a member of the body. Where servers could read that in two
 * ways, its model stays unknown.
 */
export function readInnerRequest(admission: Admission): null | Promise<null> {
  const { body, route } = admission
  const inner = route.dialect?.innerRequest
  const { plain } = body
  if (inner === undefined || plain === null || route.choice !== null) return null
  const top = scanned(admission, plain, wantedOf(inner))
  return top instanceof Promise
    ? top.then((found) => readMember(admission, inner, plain, found))
    : readMember(admission, inner, plain, top)
}

const wanted = new Map<string, Wanted>()

function wantedOf({ member }: InnerRequest): Wanted {
  const found = wanted.get(member) ?? new Set([member])
  wanted.set(member, found)
  return found
}

function readMember(
  admission: Admission,
  inner: InnerRequest,
  plain: Buffer,
  top: RequestScan | null,
): null | Promise<null> {
  if (top === null) return null
  const place = isSure(top) ? top.members.get(inner.member) : undefined
  if (place === undefined) return doubtModel(admission)
  const found = scanned(admission, plain.subarray(...place), null)
  if (found instanceof Promise) return found.then((scan) => takeScan(admission, inner, scan))
  return takeScan(admission, inner, found)
}

/** What stands beside the member is not the model that is asked for. */
function doubtModel(admission: Admission): null {
  const { body } = admission
  if (body.scan !== null)
    admission.body = { ...body, scan: { ...body.scan, model: null, duplicateModel: true } }
  return null
}

function takeScan(admission: Admission, { dialect }: InnerRequest, found: RequestScan | null): null {
  const { body, route } = admission
  if (found === null || body.scan === null) return null
  const { readable, model, duplicateModel, namesOtherModels, asked } = found
  admission.body = {
    ...body,
    scan: { ...body.scan, readable, model, duplicateModel, namesOtherModels, asked },
  }
  admission.route = { ...route, dialect }
  return null
}

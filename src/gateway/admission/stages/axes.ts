import { type AxisValue, axesText } from '../../../call/axes.ts'
import { findValue } from '../../axes/find-value.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

/** Finds the call's values on the axes of the configuration. Refuses nothing: a call without a value has none. */
export function readAxes(admission: Admission, { config }: Pick<AdmissionOptions, 'config'>): null {
  const { axes } = config
  if (axes === undefined) return null
  const pepper = config.keyPepper[0] ?? ''
  const values: AxisValue[] = []
  for (const axis of axes.list) {
    const value = findValue(axis, admission, pepper)
    if (value !== null) values.push({ axis: axis.name, value, totals: axis.totals ? 'own' : 'call' })
  }
  admission.axes = axesText(values)
  return null
}

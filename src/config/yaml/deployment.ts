import { z } from 'zod'
import { DEPLOYMENTS } from '../../pricing/places/upstream-places.ts'
import { modelPattern } from '../variables.ts'

const deployment = z.enum(DEPLOYMENTS, `must be one of ${DEPLOYMENTS.join(', ')}`)

/** Where an upstream on Azure serves: all that it has, or each deployment by its name. */
export const deploymentShape = z.union([deployment, z.record(modelPattern, deployment)])

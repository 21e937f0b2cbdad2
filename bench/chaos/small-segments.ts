import { SegmentLog } from '../../src/ledger/journal/segments/segment-log.ts'

/**
 * Loaded first into gateways of a chaos run: their logs have segments of so few bytes that faults meet new segments,
 * calls that are carried forward, and segments that are deleted.
 */
const SEGMENT_BYTES = 48 * 1_024

const { create, reopen } = SegmentLog
SegmentLog.create = (options) => create.call(SegmentLog, { ...options, segmentBytes: SEGMENT_BYTES })
SegmentLog.reopen = (options, ...rest) =>
  reopen.call(SegmentLog, { ...options, segmentBytes: SEGMENT_BYTES }, ...rest)

/**
 * Appends the entries of one batch in order and returns the stream's length, then their ids. It stops at the first one
 * that is refused, so that the ids are those of the batch's beginning. One command for all of them costs a third of one
 * for each.
 * KEYS: stream. ARGV: producer, version, tag of the database (empty: none), then sequence, checksum, body of each.
 */
export const APPEND = `
local ids = {}
local isTagged = ARGV[3] ~= ''
for i = 4, #ARGV, 3 do
  local id
  if isTagged then
    id = redis.pcall('XADD', KEYS[1], '*', 'p', ARGV[1], 's', ARGV[i], 'v', ARGV[2], 'c', ARGV[i + 1], 'r', ARGV[i + 2], 'd', ARGV[3])
  else
    id = redis.pcall('XADD', KEYS[1], '*', 'p', ARGV[1], 's', ARGV[i], 'v', ARGV[2], 'c', ARGV[i + 1], 'r', ARGV[i + 2])
  end
  if type(id) == 'table' and id.err then
    if #ids == 0 then return id end
    break
  end
  ids[#ids + 1] = id
end
return {redis.call('XLEN', KEYS[1]), ids}`

/**
 * Which of these entries are on the stream as they were sent, 1 or 0 each. A server that lost its data, and whose clock
 * stepped back, gives the same ids again: what the entry holds decides.
 * KEYS: stream. ARGV: producer, then id and sequence of each.
 */
export const ARE_THERE = `
local present = {}
for i = 2, #ARGV, 2 do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  local fields = {}
  if entry then
    for j = 1, #entry[2], 2 do fields[entry[2][j]] = entry[2][j + 1] end
  end
  present[#present + 1] = fields['p'] == ARGV[1] and fields['s'] == ARGV[i + 1] and 1 or 0
end
return present`

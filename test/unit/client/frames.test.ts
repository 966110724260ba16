import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameError, FrameReader } from '../../../src/client/frames.js'

const frame = (body: Uint8Array) => {
  const head = Buffer.alloc(4)
  head.writeInt32BE(body.length)
  return Buffer.concat([head, body])
}

test('any split of a stream gives the same frames', () => {
  const body = fc.uint8Array({ minLength: 4, maxLength: 300 })
  fc.assert(
    fc.property(fc.array(body, { maxLength: 8 }), fc.infiniteStream(fc.integer({ min: 1, max: 120 })), (bodies, sizes) => {
      const stream = Buffer.concat(bodies.map(frame))
      const seen: Buffer[] = []
      const reader = new FrameReader((one) => seen.push(one))
      for (let at = 0; at < stream.length; ) {
        const size = sizes.next().value
        const chunk = Buffer.from(stream.subarray(at, at + size))
        reader.push(chunk)
        // Sockets read into the same memory again.
        chunk.fill(0)
        at += size
      }
      expect(seen.map((one) => one.toString('hex'))).toEqual(bodies.map((one) => Buffer.from(one).toString('hex')))
    }),
  )
})

test('large frames are filled in place, whatever part is read at once', () => {
  const LARGE = 200_000
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 4, max: LARGE }), { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 90_000 })),
      (lengths, sizes) => {
        const bodies = lengths.map((length, i) => Buffer.alloc(length, i + 1))
        const stream = Buffer.concat(bodies.map(frame))
        const seen: Buffer[] = []
        const reader = new FrameReader((one) => seen.push(one))
        const scratch = Buffer.alloc(70_000)
        let inPlace = 0
        for (let at = 0; at < stream.length; ) {
          const place = reader.target ?? scratch
          const size = Math.min(sizes.next().value, place.length, stream.length - at)
          stream.copy(place, 0, at, at + size)
          reader.push(place.subarray(0, size))
          if (place !== scratch) inPlace += size
          at += size
        }
        expect(seen.every((one, i) => one.equals(bodies[i]!))).toBe(true)
        expect(seen.length).toBe(bodies.length)
        if (lengths.every((length) => length === LARGE)) expect(inPlace).toBeGreaterThan(0)
      },
    ),
  )
})

test('text, TLS and nonsense are told apart, and nothing large is allocated for them', () => {
  const reason = (bytes: string | Buffer) => {
    try {
      new FrameReader(() => {}).push(Buffer.from(bytes as string))
    } catch (error) {
      expect(error).toBeInstanceOf(FrameError)
      return (error as FrameError).message
    }
    return undefined
  }
  expect(reason('HTTP/1.1 400 Bad Request\r\n')).toBe('an HTTP server answered')
  expect(reason('220 mail ready\r\n')).toBe('something that is not Kafka answered: "220 mail ready"')
  expect(reason(Buffer.from('150303000202', 'hex'))).toBe('this looks like a TLS port')
  expect(reason(Buffer.from('0fffffff', 'hex'))).toContain('a message of 268435455 bytes')
  expect(reason(Buffer.from('00000000', 'hex'))).toContain('a message of 0 bytes')
})

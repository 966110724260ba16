import { inflateRawSync } from 'node:zlib'

/** Just enough of the zip format to read a jar: PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16. */
const END_OF_CENTRAL_DIRECTORY = 0x06054b50
const CENTRAL_ENTRY = 0x02014b50

/** The contents of those entries of a zip file whose name `wanted` accepts. */
export function readZip(zip: Buffer, wanted: (name: string) => boolean): Map<string, Buffer> {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  if (end < 0 || zip.readUInt32LE(end) !== END_OF_CENTRAL_DIRECTORY) throw new Error('not a zip file')
  const files = new Map<string, Buffer>()
  let at = zip.readUInt32LE(end + 16)
  for (let entries = zip.readUInt16LE(end + 10); entries > 0; entries--) {
    if (zip.readUInt32LE(at) !== CENTRAL_ENTRY) throw new Error(`no zip entry at ${at}`)
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28)
    const name = zip.toString('utf8', at + 46, nameEnd)
    if (wanted(name)) files.set(name, contentOf(zip, at))
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  return files
}

function contentOf(zip: Buffer, entry: number): Buffer {
  const method = zip.readUInt16LE(entry + 10)
  const size = zip.readUInt32LE(entry + 20)
  const local = zip.readUInt32LE(entry + 42)
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
  const packed = zip.subarray(start, start + size)
  return method === 0 ? packed : inflateRawSync(packed)
}

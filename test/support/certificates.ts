import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import forge from 'node-forge'

/** A key and its certificate, as PEM text and forge's objects. */
export interface Identity {
  /** Unencrypted PKCS#8. */
  readonly keyPem: string
  readonly certificatePem: string
  readonly key: forge.pki.rsa.PrivateKey
  readonly certificate: forge.pki.Certificate
}

/** PEM files of one folder, as brokers and clients are pointed at. */
export interface CertificateFiles {
  /** The authority that signed everything but `otherCa`. */
  readonly ca: string
  /** An authority that signed nothing. */
  readonly otherCa: string
  /** Key and chain of the broker, for localhost, 127.0.0.1 and ::1. */
  readonly server: string
  /** Key and chain of a client, principal `User:CN=client`. */
  readonly client: string
  /** The same with its key encrypted by `clientKeyPassword`. */
  readonly clientEncrypted: string
  /** The same as PKCS#12, encrypted by `clientKeyPassword`. */
  readonly clientPkcs12: string
  readonly clientKeyPassword: string
  /** Key and chain of a client that `otherCa` signed. */
  readonly stranger: string
  readonly pem: { readonly ca: string; readonly clientKey: string; readonly clientChain: string }
}

/** Makes an identity signed by an issuer, for localhost or the named hosts; or by itself without one (an authority). */
export function makeIdentity(commonName: string, issuer?: Identity, hosts?: readonly string[]): Identity {
  // Node's own generator: forge's is many times slower.
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keyPem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const key = forge.pki.privateKeyFromPem(pair.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string)
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.setRsaPublicKey(key.n, key.e)
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`
  certificate.validity.notBefore = new Date(Date.now() - 86_400_000)
  certificate.validity.notAfter = new Date(Date.now() + 30 * 86_400_000)
  certificate.setSubject([{ name: 'commonName', value: commonName }])
  certificate.setIssuer(issuer ? issuer.certificate.subject.attributes : certificate.subject.attributes)
  certificate.setExtensions(
    issuer
      ? [
          { name: 'basicConstraints', cA: false },
          { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          {
            name: 'subjectAltName',
            altNames: hosts?.map((value) => ({ type: 2, value })) ?? [
              { type: 2, value: 'localhost' },
              { type: 7, ip: '127.0.0.1' },
              { type: 7, ip: '::1' },
            ],
          },
        ]
      : [
          { name: 'basicConstraints', cA: true },
          { name: 'keyUsage', keyCertSign: true, cRLSign: true },
        ],
  )
  certificate.sign(issuer?.key ?? key, forge.md.sha256.create())
  return { keyPem, key, certificate, certificatePem: forge.pki.certificateToPem(certificate) }
}

/** Writes a full set of certificates into a folder. */
export async function writeCertificates(folder: string): Promise<CertificateFiles> {
  const ca = makeIdentity('kafka-mirrors test authority')
  const otherCa = makeIdentity('another authority')
  const client = makeIdentity('client', ca)
  const clientKeyPassword = 'key-secret'
  const encryptedKey = createPrivateKey(client.keyPem).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: clientKeyPassword,
  })
  const pkcs12 = forge.pkcs12.toPkcs12Asn1(client.key, [client.certificate, ca.certificate], clientKeyPassword, { algorithm: 'aes256' })
  const write = async (name: string, content: string | Buffer) => {
    const path = join(folder, name)
    await writeFile(path, content)
    return path
  }
  const withChain = (identity: Identity, authority: Identity) => identity.keyPem + identity.certificatePem + authority.certificatePem
  return {
    ca: await write('ca.pem', ca.certificatePem),
    otherCa: await write('other-ca.pem', otherCa.certificatePem),
    server: await write('server.pem', withChain(makeIdentity('localhost', ca), ca)),
    client: await write('client.pem', withChain(client, ca)),
    clientEncrypted: await write('client-encrypted.pem', encryptedKey + client.certificatePem + ca.certificatePem),
    clientPkcs12: await write('client.p12', Buffer.from(forge.asn1.toDer(pkcs12).getBytes(), 'binary')),
    clientKeyPassword,
    stranger: await write('stranger.pem', withChain(makeIdentity('stranger', otherCa), otherCa)),
    pem: { ca: ca.certificatePem, clientKey: client.keyPem, clientChain: client.certificatePem + ca.certificatePem },
  }
}

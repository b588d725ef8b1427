// Requests a signed answer and lands it on its chain.
import { JsonRpcProvider, Wallet, id, zeroPadValue } from 'ethers'

const [service, rpcUrl, privateKey, operation, request] = process.argv.slice(2)
if (!request) {
  console.error("Usage: node docs/guide/agent.mjs <service> <rpc url> <private key> <operation> '<request>'")
  process.exit(2)
}
const { chainId, ...question } = JSON.parse(request)
const wallet = new Wallet(privateKey, new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1 }))

async function post(path, body) {
  const response = await fetch(`${service}/compute/v0/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chainId, ...body }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${answer.title}: ${answer.detail}`)
  return answer
}

const { chains } = await (await fetch(service)).json()
const chain = chains.find(({ id }) => id === chainId)
if (!chain?.ready)
  throw new Error(`chain ${chainId} is not signed for: ${chain?.reason ?? 'it is not served'}`)
// With a proxy, answers land in any order.
question.submission ??= chain.proxy?.ready ? 'proxy' : 'direct'
const MENDED = ['InvalidSignature()', 'DeadlineExpired()'].map((error) => id(error).slice(0, 10))
const ATTESTED = id('Attested(address,address,bytes32,bytes32)')
const include = ['transaction']
let answer = await post(operation, { include, ...question })
for (let tries = 1; ; tries++) {
  try {
    const sent = await wallet.sendTransaction(answer.transaction)
    const { logs } = await sent.wait()
    const { recipient, attester: signer } = answer.attestation
    // Instances of the service may sign with different keys, so the answer names its own signer.
    const attester = question.submission === 'proxy' ? chain.proxy.address : signer
    const ours = `${[ATTESTED, zeroPadValue(recipient, 32), zeroPadValue(attester, 32)]}`.toLowerCase()
    // The transaction may have emitted other events before, for example if the wallet is a contract.
    const log = logs.find(({ address, topics }) => address === chain.eas && `${topics.slice(0, 3)}` === ours)
    console.log(log.data, answer.result)
    break
  } catch (error) {
    if (question.submission === 'proxy' || tries === 100) throw error
    // The deadline has passed, or another answer took the nonce. A transaction that reverted has no reason: a
    // call finds it.
    const refused = error.data ? error : await wallet.call(answer.transaction).catch((reason) => reason)
    if (!MENDED.includes(refused.data)) throw error
    // Another account may have sent this answer. Signed again, it would land twice.
    const { landed } = await post('verify', answer)
    if (landed.status === 'landed') {
      console.log(landed.uid, answer.result)
      break
    }
    if (landed.status !== 'not landed')
      throw new Error('It is unknown if the answer has landed. Retry later.')
    answer = await post('resign', { include, ...answer })
  }
}

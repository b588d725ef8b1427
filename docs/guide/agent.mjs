// Asks a question, and lands the signed answer on its chain.
import { Contract, JsonRpcProvider, Signature, Wallet } from 'ethers'

const [service, rpcUrl, privateKey, operation, request] = process.argv.slice(2)
if (!request) {
  console.error("Usage: node docs/guide/agent.mjs <service> <rpc url> <private key> <operation> '<request>'")
  process.exit(2)
}
const { chainId } = JSON.parse(request)
const ATTESTED = 'event Attested(address indexed, address indexed attester, bytes32 uid, bytes32 indexed)'

async function post(path, body) {
  const response = await fetch(`${service}/compute/v0/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${answer.title}: ${answer.detail}`)
  return answer
}

const { chains } = await (await fetch(service)).json()
const {
  eas: address,
  abi,
  ready,
  reason = 'it is not served',
} = chains.find(({ id }) => id === chainId) ?? {}
if (!ready) throw new Error(`chain ${chainId} is not signed for: ${reason}`)
const eas = new Contract(
  address,
  [...abi, ATTESTED],
  new Wallet(privateKey, new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1 })),
)

let answer = await post(operation, request)
for (let tries = 1; ; tries++) {
  const { attestation: a, delegatedAttestation: d } = answer
  const { v, r, s } = Signature.from(d.signature)
  const data = {
    recipient: a.recipient,
    expirationTime: 0,
    revocable: a.revocable,
    refUID: a.refUID,
    data: a.data,
    value: 0,
  }
  try {
    const sent = await eas.attestByDelegation({
      schema: a.schema,
      data,
      signature: { v, r, s },
      attester: d.attester,
      deadline: d.deadline,
    })
    const receipt = await sent.wait()
    // Other events may come first, for example those of a wallet that is a contract
    const isOurs = ({ address: from, eventName, args }) =>
      from === address && eventName === 'Attested' && args.attester === d.attester
    // the UID of the attestation that holds the answer
    console.log(receipt.logs.find(isOurs).args.uid, answer.result)
    break
  } catch (error) {
    // Else refused by the contract: another answer took this nonce
    if (error.code !== 'CALL_EXCEPTION' || tries === 100) throw error
    answer = await post('resign', JSON.stringify({ chainId, attestation: a, delegatedAttestation: d }))
  }
}

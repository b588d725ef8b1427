// SPDX-License-Identifier: MIT
// An MCP server over stdio, like that of `geo mcp`. Arguments: the URLs of the service and of an RPC
// endpoint, and optionally a key file.
import { readFileSync } from 'node:fs'
import { createGeo } from '@geospatial-attestation/client'
import { serveStdio } from '@geospatial-attestation/mcp'
import { JsonRpcProvider, Wallet } from 'ethers'

const [url, node, keyFile] = process.argv.slice(2)
const land = keyFile && new Wallet(readFileSync(keyFile, 'utf8').trim(), new JsonRpcProvider(node))
const { closed } = serveStdio({ geo: createGeo(url), land, onError: (error) => console.error(error) })
await closed

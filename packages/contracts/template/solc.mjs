#!/usr/bin/env node
import '@geospatial-attestation/contracts/solc.mjs'

#!/usr/bin/env node
// SPDX-License-Identifier: MIT
import '@geospatial-attestation/contracts/solc.mjs'

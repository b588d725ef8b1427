#!/usr/bin/env node
// SPDX-License-Identifier: MIT
import '../dist/main.mjs'

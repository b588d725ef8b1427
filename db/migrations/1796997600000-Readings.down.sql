ALTER TABLE "chain_status" DROP "reading";

/** Types of /openapi.json, made by `npx vitest run api/service/openapi.service.test.ts -u`. */
export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the service works
         * @description For a load balancer: the process answers, and its database does.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far the copy of each chain goes
         * @description 200 when every chain is followed closely enough, with the figures of each.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Figures for Prometheus
         * @description The same figures, those of the audit, of requests, and of the process.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/distance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * How far two geometries are apart
         * @description The shortest geodesic distance between any point of one and any point of the other, on the WGS84 ellipsoid, rounded once to a centimetre; 0 where they touch.
         *
         *     `inputRefs` holds the reference of `from`, then `to`.
         */
        post: operations["distance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/contains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether one geometry lies wholly in another
         * @description True where nothing of the geometry is outside the container and their interiors meet. A point within half a centimetre of the boundary is on it, so not contained: `intersects` covers that.
         *
         *     `inputRefs` holds the reference of `container`, then `geometry`.
         */
        post: operations["contains"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/within": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether two geometries are no farther apart than a radius
         * @description True where their distance, rounded to a centimetre, is less than or equal to the radius, rounded likewise. The answer's `operation` carries the radius in centimetres: match it by its prefix `within:`.
         *
         *     `inputRefs` holds the reference of `geometry`, then `target`.
         */
        post: operations["within"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/intersects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether two geometries share any point
         * @description True where they share any space, boundaries included: where their distance, rounded to a centimetre, is 0.
         *
         *     `inputRefs` holds the reference of `geometry1`, then `geometry2`.
         */
        post: operations["intersects"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/area": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * How large a polygon is
         * @description The geodesic area on the WGS84 ellipsoid, holes left out, rounded once to a square centimetre. A ring bounds its smaller side, whatever its winding.
         *
         *     `inputRefs` holds the reference of `geometry`.
         */
        post: operations["area"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/length": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * How long a line is
         * @description The sum of the geodesic lengths of its edges on the WGS84 ellipsoid, rounded once to a centimetre.
         *
         *     `inputRefs` holds the reference of `geometry`.
         */
        post: operations["length"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Up to 20 results that can be submitted together
         * @description Computes each operation and signs the results so that all of them can land, directly at consecutive nonces, in order: as one `multiAttestByDelegation`, or one by one in this order. An operation that is refused refuses the request, and names its place. (An extension to the specification.)
         */
        post: operations["batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/resign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Earlier results, signed anew
         * @description The same data with a fresh nonce, deadline and signature: for a result whose nonce was used up by another one, or whose deadline has passed; or for those of a batch, at consecutive nonces. Nothing is computed again, so `timestamp` stays; but the attestations that it rests on must still stand, and it must not be too old. (An extension to the specification.)
         */
        post: operations["resign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/reference": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A geometry's reference, without an answer
         * @description What `inputRefs` holds for this geometry: a contract that knows a place beforehand pins it by this hash. Equal geometries in other writing (`1.0` for `1`, spaces, foreign members) have the same one; other coordinates, another order of vertices or a Feature of another geometry do not. (An extension to the specification.)
         */
        post: operations["reference"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compute/v0/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether an earlier result is ours, has landed, and can still be submitted
         * @description Checks the signature, the nonce or whether the proxy has taken it, and the deadline against the contract as it is now, says what the data means, and finds the attestation that holds it. A result that does not hold is an answer, not an error. (An extension to the specification.)
         */
        post: operations["verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/location-records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Attested locations that match all filters
         * @description Newest first, unless sorted otherwise. The order is total, so pages neither repeat nor lose a record. JSON and HTML come in pages, and so do GeoJSON, NDJSON and CSV where `limit` is 1000 or less; with a larger one they hold so many, without all that match, streamed. GeoParquet and FlatGeobuf are always streamed. A parameter that is unknown or given twice is an error. (The specification has `chain` to `bbox`, `limit` and `offset`; the other parameters are extensions to it.)
         */
        get: operations["listLocationRecords"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/location-records/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts over all records
         * @description As of now, over all chains: kept as records change, so they cost nothing. And how far the copy of each chain goes.
         */
        get: operations["getStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/location-records/{uid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One attested location by its UID
         * @description Where several chains have the UID, the newest; `chain` picks.
         */
        get: operations["getLocationRecord"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/schemas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Location schemas found in the registries
         * @description Found in each chain's SchemaRegistry: every schema with an srs, a location type and a location. Those of the configuration are indexed on every chain, beside these.
         */
        get: operations["listSchemas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Chains and schema of the Records API
         * @description Which chains are accepted by the `chain` filter.
         */
        get: operations["getConfiguration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Answers of this service that are attestations
         * @description Signed answers of the Compute API that were submitted, by whomever, directly or through the proxy, found on the chain by their attester. Newest first, unless sorted otherwise. JSON and HTML come in pages; NDJSON and CSV hold all that match, or `limit` of them, streamed. (An extension to the specification.)
         */
        get: operations["listAnswers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/answers/{uid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of them by its UID
         * @description Where several chains have the UID, the newest; `chain` picks. (An extension to the specification.)
         */
        get: operations["getAnswer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v0/location-records/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happens to records, as it happens
         * @description Server-Sent Events, as `EventSource` of browsers reads them. `new`, `revoked` (data: the record as it is now) and `reorged`: the chain took it back (data: `{"uid","chain"}` where the record is gone, the record where only its revocation is). Data replaces what is known of that UID and chain.
         *
         *     Who comes back with the `id` of the last event (browsers do) is told all since, once and in order, by any copy of the service. `reset` says that this is not possible: load the list anew, then go on. Without one it begins now: begin to listen, then load the list. Changes are kept for 7 days.
         *
         *     With `finality=final` a record is told when its block is final, and its revocation when that block is, each once; nothing that a reorg took back, or may take back, is told or shown. `corrected` in place of `reorged`: a node had made it up, as the audit proved.
         *
         *     `reorged` of records that are gone passes all filters but `chain`. A comment every 15 seconds is a sign of life.
         */
        get: operations["streamLocationRecords"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tiles/location-records.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where the vector tiles are, and what is in them
         * @description TileJSON 3.0, for MapLibre, QGIS and others. The filters of the request become those of its tiles.
         */
        get: operations["getTileJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tiles/location-records/{z}/{x}/{y}.mvt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A vector tile of records
         * @description Mapbox Vector Tile 2.1, in the tile matrix set WebMercatorQuad, zooms 0 to 22. A tile with 500 records or fewer draws each in the layer `records`; one with more counts them in the layer `clusters`: none is left out. A tile without records is empty.
         *
         *     The filters are those of the list of records. The ETag is that of the content: with If-None-Match the answer is 304 until a record of this tile changes, and at most a quarter of a second longer.
         */
        get: operations["getTile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/graphql": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page to ask from
         * @description GraphiQL for a browser (`Accept: text/html`), which loads nothing from elsewhere.
         */
        get: operations["getGraphiql"];
        put?: never;
        /**
         * Records and their events, as the query asks
         * @description Raw GraphQL over all indexed attestations, reading only: records with GeoJSON geometry, the log of events, filters, connections. The schema describes itself by introspection; docs/reference/graphql.md has examples and the limits. Who accepts `application/graphql-response+json` gets the answer under that name.
         */
        post: operations["queryGraphql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The same questions as tools
         * @description Model Context Protocol over Streamable HTTP, without sessions and streams: one message a request. The tools ask this API as the caller, so its limits and errors hold. docs/guide/agents.md connects a host.
         */
        post: operations["sendMcpMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Which deployment this is
         * @description Its name and version, its endpoints, its chains with the attester address of each, and whether each can be signed for.
         */
        get: operations["getInformation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/errors/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an error means and what to do
         * @description Where the `type` of every error of the Compute API leads. HTML for a browser (`Accept: text/html`), else JSON.
         */
        get: operations["getErrorPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document
         * @description OpenAPI 3.1; `/docs` shows it as a page.
         */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/llms.txt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What language models need to know
         * @description This deployment in a page of Markdown (llmstxt.org): what is asked and how, its chains, links to the rest.
         */
        get: operations["getLlms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Longitude (-180 to 180) and latitude (-90 to 90) in degrees (WGS84); an altitude is ignored by the measure, and part of the reference. */
        Position: number[];
        /** @description A closed ring: its last position is its first. It bounds its smaller side, whatever its winding, and must not cross itself. */
        Ring: components["schemas"]["Position"][];
        /**
         * Point
         * @description One place.
         */
        Point: {
            /** @constant */
            type: "Point";
            coordinates: components["schemas"]["Position"];
        };
        /**
         * MultiPoint
         * @description Several places.
         */
        MultiPoint: {
            /** @constant */
            type: "MultiPoint";
            /** @description Places. */
            coordinates: components["schemas"]["Position"][];
        };
        /**
         * LineString
         * @description A line of geodesic edges.
         */
        LineString: {
            /** @constant */
            type: "LineString";
            /** @description The line's positions. */
            coordinates: components["schemas"]["Position"][];
        };
        /**
         * MultiLineString
         * @description Several lines.
         */
        MultiLineString: {
            /** @constant */
            type: "MultiLineString";
            /** @description Lines. */
            coordinates: components["schemas"]["Position"][][];
        };
        /**
         * Polygon
         * @description A region.
         */
        Polygon: {
            /** @constant */
            type: "Polygon";
            /** @description The outer ring, then its holes. */
            coordinates: components["schemas"]["Ring"][];
        };
        /**
         * MultiPolygon
         * @description Several regions that do not overlap.
         */
        MultiPolygon: {
            /** @constant */
            type: "MultiPolygon";
            /** @description Polygons. */
            coordinates: components["schemas"]["Ring"][][];
        };
        /**
         * GeometryCollection
         * @description Geometries of any types, as one.
         */
        GeometryCollection: {
            /** @constant */
            type: "GeometryCollection";
            /** @description Its parts; collections nest 8 deep at most. */
            geometries: components["schemas"]["Geometry"][];
        };
        /** @description A GeoJSON geometry (RFC 7946), 100,000 positions at most. Edges are shortest geodesics, not lines on a map. */
        Geometry: components["schemas"]["Point"] | components["schemas"]["MultiPoint"] | components["schemas"]["LineString"] | components["schemas"]["MultiLineString"] | components["schemas"]["Polygon"] | components["schemas"]["MultiPolygon"] | components["schemas"]["GeometryCollection"];
        /**
         * Feature
         * @description A GeoJSON Feature, taken as its geometry.
         */
        Feature: {
            /** @constant */
            type: "Feature";
            geometry: components["schemas"]["Geometry"];
            /** @description Passed over, as are other fields. */
            properties?: unknown;
            /** @description Passed over. */
            id?: unknown;
            /** @description Passed over. */
            bbox?: unknown;
        };
        /**
         * FeatureCollection
         * @description A GeoJSON FeatureCollection of exactly one Feature, taken as its geometry.
         */
        FeatureCollection: {
            /** @constant */
            type: "FeatureCollection";
            /** @description The one Feature. */
            features: components["schemas"]["Feature"][];
            /** @description Passed over. */
            bbox?: unknown;
        };
        /** @description An error of the Records API, and of whatever lies outside both APIs. */
        RecordsError: {
            /**
             * @description Always `error`.
             * @constant
             */
            status: "error";
            /** @description The kind of error. */
            message: string;
            /** @description What is wrong, and what would be right. */
            detail: string;
        };
        /**
         * Offchain attestation, as a file
         * @description The file that EAS's explorer and library give out.
         */
        OffchainFile: {
            /** @description The signed typed data. */
            sig: {
                /** @description Version of the offchain attestation, where the message has one too. */
                version?: number;
                /** @description The UID that its content hashes to. */
                uid: string;
                /** @description EIP-712 domain: the EAS of the request's chain. */
                domain: {
                    /**
                     * @description Its name.
                     * @constant
                     */
                    name: "EAS Attestation";
                    /**
                     * @description A version that EAS has had.
                     * @example 1.0.0
                     */
                    version: string;
                    /** @description The chain. */
                    chainId: number | string;
                    /** @description The EAS contract. */
                    verifyingContract: string;
                };
                /**
                 * @description Name of the signed type; of some files of version 0 `Attestation`.
                 * @enum {unknown}
                 */
                primaryType: "Attest" | "Attestation";
                /** @description The signed type and its fields. */
                types: {
                    [key: string]: {
                        /** @description Its name. */
                        name: string;
                        /** @description Its type. */
                        type: string;
                    }[];
                };
                /** @description What was attested. */
                message: {
                    /** @description From version 1 on. */
                    version?: number;
                    /** @description UID of the schema. */
                    schema: string;
                    /** @description The recipient, or the zero address. */
                    recipient: string;
                    /** @description Unix seconds. */
                    time: number | string;
                    /** @description Unix seconds; 0 is never. */
                    expirationTime: number | string;
                    /** @description Whether its signer may revoke it. */
                    revocable: boolean;
                    /** @description UID of an attestation that it refers to, or zero. */
                    refUID: string;
                    /** @description The encoded location. */
                    data: string;
                    /** @description In version 2: 32 bytes in hex. */
                    salt?: string;
                };
                /** @description The signature: of a key, or of a smart account (ERC-1271, ERC-6492) at the address of the signer. */
                signature: {
                    /** @description 27 or 28 (0 and 1 are taken as these). */
                    v: number | string;
                    /** @description 32 bytes in hex */
                    r: string;
                    /** @description 32 bytes in hex */
                    s: string;
                } | {
                    /** @description 32 bytes in hex */
                    r: string;
                    /** @description 32 bytes in hex */
                    yParityAndS: string;
                } | string;
            };
            /** @description Who signed it. */
            signer: string;
        };
        /**
         * Offchain attestation, as the library's object
         * @description The library's own object, with `signer` in it.
         */
        OffchainObject: {
            /** @description Version of the offchain attestation, where the message has one too. */
            version?: number;
            /** @description The UID that its content hashes to. */
            uid: string;
            /** @description EIP-712 domain: the EAS of the request's chain. */
            domain: {
                /**
                 * @description Its name.
                 * @constant
                 */
                name: "EAS Attestation";
                /**
                 * @description A version that EAS has had.
                 * @example 1.0.0
                 */
                version: string;
                /** @description The chain. */
                chainId: number | string;
                /** @description The EAS contract. */
                verifyingContract: string;
            };
            /**
             * @description Name of the signed type; of some files of version 0 `Attestation`.
             * @enum {unknown}
             */
            primaryType: "Attest" | "Attestation";
            /** @description The signed type and its fields. */
            types: {
                [key: string]: {
                    /** @description Its name. */
                    name: string;
                    /** @description Its type. */
                    type: string;
                }[];
            };
            /** @description What was attested. */
            message: {
                /** @description From version 1 on. */
                version?: number;
                /** @description UID of the schema. */
                schema: string;
                /** @description The recipient, or the zero address. */
                recipient: string;
                /** @description Unix seconds. */
                time: number | string;
                /** @description Unix seconds; 0 is never. */
                expirationTime: number | string;
                /** @description Whether its signer may revoke it. */
                revocable: boolean;
                /** @description UID of an attestation that it refers to, or zero. */
                refUID: string;
                /** @description The encoded location. */
                data: string;
                /** @description In version 2: 32 bytes in hex. */
                salt?: string;
            };
            /** @description The signature: of a key, or of a smart account (ERC-1271, ERC-6492) at the address of the signer. */
            signature: {
                /** @description 27 or 28 (0 and 1 are taken as these). */
                v: number | string;
                /** @description 32 bytes in hex */
                r: string;
                /** @description 32 bytes in hex */
                s: string;
            } | {
                /** @description 32 bytes in hex */
                r: string;
                /** @description 32 bytes in hex */
                yParityAndS: string;
            } | string;
            /** @description Who signed it. */
            signer: string;
        };
        /** @description An EAS offchain attestation (version 0, 1 or 2) exactly as its signer's software or the explorer's file has it. Its UID, signature, chain, contract, times and revocation are checked before it is used. */
        OffchainAttestation: components["schemas"]["OffchainFile"] | components["schemas"]["OffchainObject"];
        /** @description A geometry, in one of five forms: the UID of an onchain attestation (as a string, or as `{"uid"}`); GeoJSON; GeoJSON with a salt, whose reference tells nothing of the place (`{"geometry", "salt"}`); an offchain attestation behind a URI (`{"uid", "uri"}`); an offchain attestation itself (`{"attestation"}`). */
        Input: string | {
            /** @description UID of an attestation on the chain of the request. */
            uid: string;
        } | components["schemas"]["Geometry"] | components["schemas"]["Feature"] | components["schemas"]["FeatureCollection"] | {
            geometry: components["schemas"]["Geometry"] | components["schemas"]["Feature"] | components["schemas"]["FeatureCollection"];
            /** @description 32 random bytes; not zeros. */
            salt: string;
        } | {
            /** @description Its UID, which the document must have. */
            uid: string;
            /**
             * Format: uri
             * @description Where it is.
             * @example https://example.org/attestation.json
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            uri: string;
        } | {
            attestation: components["schemas"]["OffchainAttestation"];
        };
        /** @description What was signed: the arguments of `attestByDelegation`. value is 0. */
        Attestation: {
            /** @description UID of the schema. */
            schema: string;
            /** @description Who signed: the deployment's attester address. */
            attester: string;
            /** @description The recipient asked for, or the zero address. */
            recipient: string;
            /** @description The ABI-encoded result, by the schema: `uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation` in whole centimeters or square_centimeters; for booleans `bool result,bytes32[] inputRefs,uint256 timestamp,string operation`. */
            data: string;
            /** @description r, s and v: 65 bytes in hex, low s, v 27 or 28. */
            signature: string;
            /** @description The schema's own flag; EAS refuses another. */
            revocable: boolean;
            /** @description Zero. */
            refUID: string;
            /** @description Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land. */
            expirationTime: number;
        };
        /** @description What the delegated submission needs besides. */
        DelegatedAttestation: {
            /** @description r, s and v: 65 bytes in hex, low s, v 27 or 28. */
            signature: string;
            /** @description Who signed. */
            attester: string;
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
            /** @description The attester's nonce that was signed; answers for the proxy have none. It must be that of EAS when submitted: of results signed at one nonce only one can land. */
            nonce?: number;
            /**
             * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us.
             * @enum {unknown}
             */
            submission: "direct" | "proxy";
            /** @description The contract that takes it: EAS, or the proxy of the chain. */
            contract: string;
            /** @description What to do when another answer has used up the nonce, as a sentence. */
            ifNonceUsed?: string;
            /** @description What the inputs were, in a form that only this service can have written: hand it back to have the same result signed anew (`/compute/v0/resign`). */
            resignToken: string;
        };
        /** @description The argument of `attestByDelegation`, as it is, of the contract that `delegatedAttestation` names. */
        DelegatedRequest: {
            /** @description UID of the schema. */
            schema: string;
            /** @description `AttestationRequestData` */
            data: {
                /** @description The recipient. */
                recipient: string;
                /** @description Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land. */
                expirationTime: number;
                /** @description The schema's own flag. */
                revocable: boolean;
                /** @description Zero. */
                refUID: string;
                /** @description The ABI-encoded result. */
                data: string;
                /**
                 * @description Nothing is paid. (A decimal string, which ethers, viem and eas-sdk all take.)
                 * @constant
                 */
                value: "0";
            };
            /** @description A signature. */
            signature: {
                /** @description 27 or 28 */
                v: number;
                /** @description 32 bytes in hex */
                r: string;
                /** @description 32 bytes in hex */
                s: string;
            };
            /** @description Who signed. */
            attester: string;
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
        };
        /** @description The transaction that submits the answer, as ethers and viem send it; whoever sends it pays the gas. */
        Transaction: {
            /** @description The contract. */
            to: string;
            /** @description The call. */
            data: string;
            /**
             * @description Nothing is paid. (A bare EIP-1193 provider wants hex: leave it out there.)
             * @constant
             */
            value: 0;
        };
        /** @description A computed result with its signed attestation. */
        ComputeResult: {
            /** @description The computed value. */
            result: number | boolean;
            /**
             * @description Of numeric results.
             * @enum {unknown}
             */
            units?: "meters" | "square_meters";
            /** @description Name of the operation; for within `within:<radius in centimetres>`. */
            operation: string;
            /** @description Unix seconds of the computation. */
            timestamp: number;
            /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
            inputRefs: string[];
            attestation: components["schemas"]["Attestation"];
            delegatedAttestation: components["schemas"]["DelegatedAttestation"];
            attestByDelegation: components["schemas"]["DelegatedRequest"];
            transaction?: components["schemas"]["Transaction"];
        };
        /** @description Results that can all be submitted, in one transaction or one after the other: in the order of their consecutive nonces, those for the proxy in any order. */
        BatchResult: {
            /** @description One per operation, in order. */
            results: components["schemas"]["ComputeResult"][];
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
            /** @description The argument of `multiAttestByDelegation`, as it is. */
            multiAttestByDelegation: {
                /** @description UID of the schema. */
                schema: string;
                /** @description In the order of the nonces. */
                data: {
                    /** @description The recipient. */
                    recipient: string;
                    /** @description Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land. */
                    expirationTime: number;
                    /** @description The schema's own flag. */
                    revocable: boolean;
                    /** @description Zero. */
                    refUID: string;
                    /** @description The ABI-encoded result. */
                    data: string;
                    /**
                     * @description Nothing is paid. (A decimal string, which ethers, viem and eas-sdk all take.)
                     * @constant
                     */
                    value: "0";
                }[];
                /** @description Parallel to `data`. */
                signatures: {
                    /** @description 27 or 28 */
                    v: number;
                    /** @description 32 bytes in hex */
                    r: string;
                    /** @description 32 bytes in hex */
                    s: string;
                }[];
                /** @description Who signed. */
                attester: string;
                /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
                deadline: number;
            }[];
            transaction?: components["schemas"]["Transaction"];
        };
        /** @description `attestation` of an earlier answer. */
        EarlierAttestation: {
            /** @description UID of the schema. */
            schema: string;
            /** @description Who signed: the deployment's attester address. */
            attester: string;
            /** @description The recipient asked for, or the zero address. */
            recipient: string;
            /** @description The ABI-encoded result. */
            data: string;
            /** @description As it was answered; or in the 64 bytes of EIP-2098. */
            signature: string;
            /** @description The schema's own flag; EAS refuses another. */
            revocable: boolean;
            /** @description Zero. */
            refUID?: string;
            /** @description Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land. */
            expirationTime?: number;
        };
        /** @description `delegatedAttestation` of an earlier answer. */
        EarlierDelegation: {
            /** @description As in `attestation`. */
            signature?: string;
            /** @description As in `attestation`. */
            attester?: string;
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
            /** @description The attester's nonce that was signed; answers for the proxy have none. It must be that of EAS when submitted: of results signed at one nonce only one can land. */
            nonce?: number;
            /**
             * @description As it was answered. Default: `direct`.
             * @enum {unknown}
             */
            submission?: "direct" | "proxy";
            /** @description May be left in; must then be the one that it was signed for. */
            contract?: string;
            /** @description May be left in. */
            ifNonceUsed?: string;
            /** @description As it was answered. `resign` needs it. */
            resignToken?: string;
        };
        /** @description `delegatedAttestation` of an earlier answer that is to be signed again. */
        ResignableDelegation: {
            /** @description As in `attestation`. */
            signature?: string;
            /** @description As in `attestation`. */
            attester?: string;
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
            /** @description The attester's nonce that was signed; answers for the proxy have none. It must be that of EAS when submitted: of results signed at one nonce only one can land. */
            nonce?: number;
            /**
             * @description As it was answered. Default: `direct`.
             * @enum {unknown}
             */
            submission?: "direct" | "proxy";
            /** @description May be left in; must then be the one that it was signed for. */
            contract?: string;
            /** @description May be left in. */
            ifNonceUsed?: string;
            /** @description As it was answered. `resign` needs it. */
            resignToken: string;
        };
        /** @description The answer of an earlier batch, or any earlier answers that are to land together. */
        EarlierBatch: {
            /**
             * @description The chain that they were signed for.
             * @example 84532
             */
            chainId: number;
            /** @description In the order of their new nonces. */
            results: {
                attestation: components["schemas"]["EarlierAttestation"];
                delegatedAttestation: components["schemas"]["ResignableDelegation"];
                /** @description May be left in; must then be what was signed, as the four below. */
                result?: unknown;
                /**
                 * @description Of numeric results.
                 * @enum {unknown}
                 */
                units?: "meters" | "square_meters";
                /** @description Name of the operation; for within `within:<radius in centimetres>`. */
                operation?: string;
                /** @description Unix seconds of the computation. */
                timestamp?: number;
                /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                inputRefs?: string[];
                attestByDelegation?: components["schemas"]["DelegatedRequest"];
                transaction?: components["schemas"]["Transaction"];
            }[];
            /** @description May be left in; must then be that of the results. */
            deadline?: number;
            /** @description May be left in; must then be the call of these results. */
            multiAttestByDelegation?: {
                /** @description UID of the schema. */
                schema: string;
                /** @description In the order of the nonces. */
                data: {
                    /** @description The recipient. */
                    recipient: string;
                    /** @description Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land. */
                    expirationTime: number;
                    /** @description The schema's own flag. */
                    revocable: boolean;
                    /** @description Zero. */
                    refUID: string;
                    /** @description The ABI-encoded result. */
                    data: string;
                    /**
                     * @description Nothing is paid. (A decimal string, which ethers, viem and eas-sdk all take.)
                     * @constant
                     */
                    value: "0";
                }[];
                /** @description Parallel to `data`. */
                signatures: {
                    /** @description 27 or 28 */
                    v: number;
                    /** @description 32 bytes in hex */
                    r: string;
                    /** @description 32 bytes in hex */
                    s: string;
                }[];
                /** @description Who signed. */
                attester: string;
                /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
                deadline: number;
            }[];
            transaction?: components["schemas"]["Transaction"];
            /**
             * @description How it is to land now. Default: as before.
             * @enum {unknown}
             */
            submission?: "direct" | "proxy";
            /** @description `transaction`: the transaction that submits the answer. */
            include?: "transaction"[];
        };
        /** @description What an earlier answer is worth now. */
        Verification: {
            /** @description Whether this deployment's key signed exactly this for this chain. */
            ours: boolean;
            /** @description Whether the contract would take it now. */
            submittable: boolean;
            /** @description Why not, where one of the two is false. */
            reasons: string[];
            /** @description What `data` says, decoded; null where it is not ours. */
            says: {
                /** @description The computed value. */
                result: number | boolean;
                /**
                 * @description Of numeric results.
                 * @enum {unknown}
                 */
                units?: "meters" | "square_meters";
                /** @description Name of the operation; for within `within:<radius in centimetres>`. */
                operation: string;
                /** @description Unix seconds of the computation. */
                timestamp: number;
                /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                inputRefs: string[];
            } | null;
            /** @description Whether an attestation on the chain holds this answer, and which one: of several with the same content, the first. Null where it is not ours. */
            landed: {
                /**
                 * @description `unknown` where the chain's node does not give the logs that tell it.
                 * @enum {unknown}
                 */
                status: "landed" | "not landed" | "unknown";
                /** @description UID of the attestation. */
                uid: string | null;
                /** @description The transaction that made it. */
                transactionHash: string | null;
                /** @description Its block. */
                blockNumber: number | null;
                /** @description Whether it was revoked since. */
                revoked: boolean | null;
            } | null;
            /** @description Who signs for this chain. */
            attester: string;
            /**
             * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us.
             * @enum {unknown}
             */
            submission: "direct" | "proxy";
            /** @description The contract that it was signed for. */
            contract: string;
            /** @description The nonce that was signed, and the contract's now; null for the proxy, which has none. */
            nonce: {
                /** @description The one of the answer. */
                signed: number;
                /** @description The one at which the contract takes the next signature. */
                current: number;
            } | null;
            /** @description Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.) */
            deadline: number;
        };
        /** @description Problem details (RFC 7807). */
        Problem: {
            /**
             * Format: uri
             * @description Leads to a page that says what it means and what to do.
             */
            type: string;
            /**
             * @description The kind of error.
             * @enum {unknown}
             */
            title: "Invalid Input" | "Attestation Not Found" | "Verification Failed" | "Computation Error" | "Too Many Requests";
            /**
             * @description The HTTP status.
             * @enum {unknown}
             */
            status: 400 | 404 | 401 | 500 | 429;
            /** @description What is wrong with this request, and what would be right. */
            detail: string;
            /** @description The path of the request. */
            instance?: string;
        };
        /** @description An attested location. */
        LocationRecord: {
            /** @description UID of the attestation. */
            uid: string;
            /** @description Slug of its chain. */
            chain: string;
            /** @description Address that created the attestation. */
            prover: string;
            /** @description Its recipient; often the prover. */
            subject: string;
            /**
             * Format: date-time
             * @description Time of its block.
             */
            timestamp: string;
            /**
             * Format: date-time
             * @description When the located event occurred; the attestation's own time if its schema has no such field, or if the attested value is not a time until the year 9999.
             */
            event_timestamp: string;
            /** @description Spatial reference system, typically `EPSG:4326`. Read as WGS84: `EPSG:4326`, `4326`, `EPSG4326`, `WGS84`, `WGS 84`, `GPS`, `CRS84`, `OGC:CRS84`, `CRS84h`, `urn:ogc:def:crs:OGC:1.3:CRS84`, `http://www.opengis.net/def/crs/OGC/1.3/CRS84`, `urn:ogc:def:crs:EPSG::4326`, `http://www.opengis.net/def/crs/EPSG/0/4326`; an empty one for GeoJSON. */
            srs: string;
            /** @description Format of `location`, such as `geojson-point`. Known: `geojson`, `geojson-point`, `GeoJSON:Point`, `geojson(point)`, `application/geo+json`, `wkt`, `wkt-point`, `coordinate-decimal+lon-lat`, `coordinate-decimal+lat-lon`, `DecimalDegrees<string>`, `scaledCoordinates`, `scaled-coordinates`, `h3`, `geohash`, `address`, `DecimalDegrees`, `coordinate-decimal`, in any letter case and with any separators. */
            location_type: string;
            /** @description The location, as text, as it was attested. */
            location: string;
            /** @description Of points, in degrees; null for others and for what cannot be read for certain. */
            longitude: number | null;
            /** @description As longitude. */
            latitude: number | null;
            /** @description Types of the proofs that came with it. */
            recipe_types: string[];
            /** @description Their payloads, in parallel. */
            recipe_payloads: string[];
            /** @description Types of the media that came with it. */
            media_types: string[];
            /** @description The media, in parallel. */
            media_data: string[];
            /** @description A description; may be empty. */
            memo: string;
            /** @description Whether it was revoked. */
            revoked: boolean;
            /**
             * Format: date-time
             * @description When the record was written here.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed here.
             */
            updated_at: string;
            /** @description Why `location` cannot be read for certain, so that there is no geometry, and why an attested event time is not used; else null. (Beyond the specification.) */
            problem: string | null;
            /** @description Further fields of the payload, by their names in the schema: only where the schema has such. Integers of more than 48 bits are texts, bytes are hex. (Beyond the specification.) */
            attributes?: {
                [key: string]: unknown;
            };
            /** @description UID of the schema of the attestation. With `include=provenance` only. */
            schema?: string;
            /** @description UID of the attestation that it refers to; zeros where it does not. With `include=provenance` only. */
            ref_uid?: string;
            /** @description Whether its attester may revoke it. With `include=provenance` only. */
            revocable?: boolean;
            /** @description When it expires; null: never, or after the year 9999. With `include=provenance` only. */
            expiration_time?: string | null;
            /** @description When it was revoked; null where it was not. With `include=provenance` only. */
            revocation_time?: string | null;
            /** @description Number of its block. With `include=provenance` only. */
            block_number?: number;
            /** @description Hash of its block. With `include=provenance` only. */
            block_hash?: string;
            /** @description Hash of its transaction. With `include=provenance` only. */
            transaction_hash?: string;
            /** @description Index of the event in its block's logs. With `include=provenance` only. */
            log_index?: number;
            /** @description Its transaction in the chain's explorer; null where the chain has none. With `include=provenance` only. */
            transaction_url?: string | null;
            /** @description The attestation in the explorer of EAS; null where the chain has none. With `include=provenance` only. */
            attestation_url?: string | null;
            /** @description Distance from `near`, to the centimetre; with `sort=distance` only. */
            distance_meters?: number;
        };
        /** @description Location records. */
        ListResponse: {
            /** @description The records. */
            data: components["schemas"]["LocationRecord"][];
            /** @description How many they are. */
            count: number;
            /** @description The limit applied. */
            limit: number;
            /** @description The offset applied; 0 with a cursor. */
            offset: number;
            /** @description `cursor` of the next page; null at the end. */
            next_cursor: string | null;
            /** @description How many match, with `total=true`. */
            total?: number;
            /** @description Whether `total` is all of them; else there are at least so many, and no more were counted. */
            total_exact?: boolean;
        };
        /** @description A location record as a GeoJSON Feature (RFC 7946). */
        RecordFeature: {
            /**
             * @description A Feature.
             * @constant
             */
            type: "Feature";
            /** @description `<chain>-<uid>`. */
            id: string;
            /** @description Our reading of `location`; null where it cannot be read for certain. */
            geometry: components["schemas"]["Geometry"] | null;
            properties: components["schemas"]["LocationRecord"];
        };
        /** @description Location records as GeoJSON (RFC 7946). */
        RecordFeatureCollection: {
            /**
             * @description A FeatureCollection.
             * @constant
             */
            type: "FeatureCollection";
            /** @description The records. */
            features: components["schemas"]["RecordFeature"][];
        };
        /** @description Counts over all records. */
        Statistics: {
            /** @description All of them. */
            total: number;
            /** @description By chain; those that are coming soon where they have records. */
            by_chain: {
                /** @description On base-sepolia. */
                "base-sepolia": number;
                /** @description On sepolia. */
                sepolia: number;
                /** @description On arbitrum. */
                arbitrum: number;
                /** @description On celo. */
                celo: number;
                /** @description On base. */
                base?: number;
            };
            /** @description By the time of their block. */
            by_time: {
                /** @description Of the last 24 hours. */
                last_24_hours: number;
                /** @description Of the last 7 days. */
                last_7_days: number;
                /** @description Of the last 30 days. */
                last_30_days: number;
            };
            /** @description Revoked ones. */
            revoked: number;
            /** @description How far the copy of each chain goes, by slug. */
            chains: {
                [key: string]: components["schemas"]["ChainFreshness"];
            };
        };
        /** @description What the Records API covers. */
        Configuration: {
            /** @description Every known chain; false while it is coming soon. */
            chains: {
                /** @description Whether `chain=base-sepolia` is accepted. */
                "base-sepolia": boolean;
                /** @description Whether `chain=sepolia` is accepted. */
                sepolia: boolean;
                /** @description Whether `chain=arbitrum` is accepted. */
                arbitrum: boolean;
                /** @description Whether `chain=celo` is accepted. */
                celo: boolean;
                /** @description Whether `chain=base` is accepted. */
                base: boolean;
            };
            /** @description UID of the location schema. */
            schema: string;
            /** @description Its fields. */
            schema_fields: string;
            /**
             * @description Version of the API.
             * @constant
             */
            version: "v0";
        };
        /** @description Location schemas that people have registered. */
        SchemaList: {
            /** @description By chain, in the order of their registration. */
            data: {
                /** @description UID of the schema. */
                uid: string;
                /** @description Slug of the chain that has it. */
                chain: string;
                /**
                 * @description Its text as registered.
                 * @example string srs,...
                 */
                fields: string;
                /** @description Its resolver; the zero address where it has none. */
                resolver: string;
                /** @description Whether its attestations may be revoked. */
                revocable: boolean;
                /** @description The block that registered it. */
                block: number;
                /** @description Whether its attestations become records: settings or the limit may leave it out. */
                indexed: boolean;
            }[];
            /** @description Those that are known without a registry, the same on every chain: no resolver, revocable. */
            built_in: {
                /** @description UID of the schema. */
                uid: string;
                /** @description Its text. */
                fields: string;
            }[];
        };
        /** @description How far the copy of this chain goes. */
        ChainFreshness: {
            /**
             * @description In a word.
             * @enum {unknown}
             */
            status: "ready" | "not started" | "reading history" | "lagging" | "node behind" | "indexer silent" | "in doubt";
            /** @description True if the copy is known to agree with the chain. Compute queries the chain about each attestation while it is not. */
            fresh: boolean;
            /** @description Why the copy may not agree with the chain; null if it is fresh. */
            doubt: string | null;
            /** @description The chain's last block, as its node last said. */
            head_block: number | null;
            /** @description The last block that is in the database. */
            indexed_block: number | null;
            /** @description Blocks between the two; null if the node names an older block, or the copy of the last one is in doubt. */
            lag_blocks: number | null;
            /** @description Seconds for which the copy has not been known to agree with the chain; null if it never was. */
            lag_seconds: number | null;
            /**
             * Format: date-time
             * @description Time of the chain's last block.
             */
            head_time: string | null;
            /**
             * Format: date-time
             * @description Time of the last block that is in the database.
             */
            indexed_time: string | null;
            /** @description Attestations that could not be stored: they give no record, and everything else goes on. */
            withheld_attestations: number;
            /** @description Location schemas of the chain's registry that were found and are indexed. */
            location_schemas: number;
            /** @description Blocks whose attestations of schemas that were found later are still to be read; 0 where none are. */
            schema_history_blocks: number;
        };
        /** @description An answer of this service that is an attestation. */
        LandedAnswer: {
            /** @description UID of the attestation. */
            uid: string;
            /** @description Slug of its chain. */
            chain: string;
            /** @description Who attested it, as EAS has it: our signer, or the proxy of the chain, which takes our signatures alone. */
            attester: string;
            /** @description Its recipient. */
            recipient: string;
            /** @description Such as `distance`, or `within:50000` (a radius in centimetres). */
            operation: string;
            /** @description A number of `units`, or a boolean, as it was answered. */
            result: number | boolean;
            /** @description `meters` or `square_meters`; null for booleans. */
            units: string | null;
            /** @description The whole number that a contract reads, centimetres or square centimetres, as text; null for booleans. */
            value: string | null;
            /** @description What it is about, in order: UIDs of attestations, or references of geometries. */
            input_refs: string[];
            /**
             * Format: date-time
             * @description When it was computed.
             */
            computed_at: string;
            /**
             * Format: date-time
             * @description When it was attested: the time of its block.
             */
            timestamp: string;
            /** @description Whether it was revoked. */
            revoked: boolean;
            /** @description UID of the schema of the attestation. */
            schema: string;
            /** @description UID of the attestation that it refers to; zeros where it does not. */
            ref_uid: string;
            /** @description Whether its attester may revoke it. */
            revocable: boolean;
            /** @description When it expires; null: never, or after the year 9999. */
            expiration_time: string | null;
            /** @description When it was revoked; null where it was not. */
            revocation_time: string | null;
            /** @description Number of its block. */
            block_number: number;
            /** @description Hash of its block. */
            block_hash: string;
            /** @description Hash of its transaction. */
            transaction_hash: string;
            /** @description Index of the event in its block's logs. */
            log_index: number;
            /** @description Its transaction in the chain's explorer; null where the chain has none. */
            transaction_url: string | null;
            /** @description The attestation in the explorer of EAS; null where the chain has none. */
            attestation_url: string | null;
        };
        /** @description Answers that have landed. */
        LandedAnswerList: {
            /** @description The answers. */
            data: components["schemas"]["LandedAnswer"][];
            /** @description How many they are. */
            count: number;
            /** @description The limit applied. */
            limit: number;
            /** @description `cursor` of the next page; null at the end. */
            next_cursor: string | null;
        };
        /** @description A description of tiles (TileJSON 3.0). */
        TileJson: {
            /**
             * @description The version of TileJSON.
             * @constant
             */
            tilejson: "3.0.0";
            /** @description What the tiles show. */
            name: string;
            /** @description The same in a sentence. */
            description: string;
            /**
             * @description Rows are counted from the north.
             * @constant
             */
            scheme: "xyz";
            /** @description The address of the tiles, with `{z}`, `{x}` and `{y}` in it, and the filters of this request. */
            tiles: string[];
            /** @description The first zoom. */
            minzoom: number;
            /** @description The last zoom. */
            maxzoom: number;
            /** @description West, south, east and north, in degrees. */
            bounds: number[];
            /** @description The layers. */
            vector_layers: {
                /** @description Name of the layer. */
                id: string;
                /** @description What it shows. */
                description: string;
                /** @description The first zoom. */
                minzoom: number;
                /** @description The last zoom. */
                maxzoom: number;
                /** @description What its features have: type and description, by name. */
                fields: {
                    [key: string]: string;
                };
            }[];
        };
        /** A GraphQL query */
        GraphqlRequest: {
            /**
             * @description The query: at most 16,384 characters.
             * @example { locationRecords(first: 3) { nodes { uid geometry } } }
             */
            query: string;
            /** @description Which of its operations, where it holds several. */
            operationName?: string | null;
            /** @description Values of its variables. */
            variables?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description What was asked for, and what went wrong. */
        GraphqlAnswer: {
            /** @description As the query asked. */
            data: {
                [key: string]: unknown;
            } | null;
            /** @description What went wrong, if anything did. */
            errors?: {
                /** @description What is wrong, and what would be right. */
                message: string;
                /** @description Where in the query. */
                locations?: {
                    /** @description Line, from 1. */
                    line: number;
                    /** @description Column, from 1. */
                    column: number;
                }[];
                /** @description The field of the answer that it left empty. */
                path?: (string | number)[];
            }[];
        };
        /** @description Why there is no answer. */
        GraphqlErrors: {
            /** @description What went wrong, if anything did. */
            errors: {
                /** @description What is wrong, and what would be right. */
                message: string;
                /** @description Where in the query. */
                locations?: {
                    /** @description Line, from 1. */
                    line: number;
                    /** @description Column, from 1. */
                    column: number;
                }[];
                /** @description The field of the answer that it left empty. */
                path?: (string | number)[];
            }[];
        };
        /**
         * A message
         * @description A message of the Model Context Protocol (JSON-RPC 2.0).
         */
        McpMessage: {
            /**
             * @description Of JSON-RPC.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description Chosen by the client; a notification has none. */
            id?: string | number;
            /**
             * @description Such as `tools/call`.
             * @example tools/list
             */
            method: string;
            /** @description The method's parameters. */
            params?: {
                [key: string]: unknown;
            };
        };
        /** @description The answer: a result, or an error. */
        McpAnswer: {
            /**
             * @description Of JSON-RPC.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description Of the message that is answered. */
            id: string | number | null;
            /** @description As the method says. A tool that failed says so in `isError`. */
            result?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["McpFault"];
        };
        /** @description What is wrong with the message. */
        McpFault: {
            /** @description Of JSON-RPC. */
            code: number;
            /** @description What is wrong, and what would be right. */
            message: string;
            /** @description More about it. */
            data?: unknown;
        };
        /** @description Which deployment this is. */
        Information: {
            /** @description Name of the service. */
            name: string;
            /** @description Version of the program. */
            version: string;
            /** @description What it is. */
            description: string;
            /** @description Which deployment this is, as its operator calls it. */
            deployment: string;
            /** @description Every endpoint, with its method. */
            endpoints: {
                /** @description The Compute API. */
                compute: string[];
                /** @description The Records API. */
                records: string[];
                /** @description Method and address of the OGC API for GIS software, which describes itself. */
                ogc: string;
                /** @description Raw GraphQL; a browser gets GraphiQL. */
                graphql: string[];
                /** @description The same as tools for agents; absent where it is off. */
                mcp?: string;
                /** @description Method and address. */
                health: string;
                /** @description Method and address. */
                readiness: string;
                /** @description Method and address. */
                metrics: string;
                /** @description Method and address. */
                errors: string;
                /** @description Method and address. */
                openapi: string;
                /** @description Method and address. */
                documentation: string;
                /** @description Method and address. */
                llms: string;
            };
            /** @description The chains that can be computed for. */
            chains: {
                /** @description Its ID: `chainId` of requests. */
                id: number;
                /** @description Its name. */
                slug: string;
                /** @description Its EAS contract. */
                eas: string;
                /** @description The contract that schemas are registered with. */
                schemaRegistry: string;
                /** @description Who signs for it. A contract that relies on answers accepts this attester only. */
                attester: string;
                /** @description While the key changes: the next one, which some answers are signed by already, or the last one, whose answers stay good. */
                otherAttesters?: string[];
                /** @description Whether it can be signed for now, as seen within the last minute. */
                ready: boolean;
                /** @description Why not. */
                reason?: string;
                /** @description What takes our signatures on this contract, and the errors that it refuses them with; empty while it cannot be signed for. */
                abi: string[];
                /** @description EIP-712 domain of the signatures; absent while they cannot be made. */
                domain?: {
                    /**
                     * @description Its name.
                     * @constant
                     */
                    name: "EAS";
                    /** @description The version that the contract signs as. */
                    version: string;
                    /** @description The chain. */
                    chainId: number;
                    /** @description The EAS contract. */
                    verifyingContract: string;
                };
                /** @description EAS's PermissionedEIP712Proxy, for answers with `submission` `proxy`; null where the chain has none. */
                proxy: {
                    /** @description The contract. EAS shows it as the attester of what lands through it. */
                    address: string;
                    /** @description Whether it takes our signatures now. */
                    ready: boolean;
                    /** @description Why not. */
                    reason?: string;
                    /** @description As of the chain. */
                    abi: string[];
                    /** @description EIP-712 domain of the signatures; absent while they cannot be made. */
                    domain?: {
                        /** @description The name that it was deployed with. */
                        name: string;
                        /** @description The version that the contract signs as. */
                        version: string;
                        /** @description The chain. */
                        chainId: number;
                        /** @description The proxy. */
                        verifyingContract: string;
                    };
                } | null;
            }[];
            /** @description Schemas of requests that name none. */
            defaultSchemas: {
                /** @description Of distance, area and length. */
                numeric: string;
                /** @description Of contains, within and intersects. */
                boolean: string;
            };
            /**
             * @description How answers land where the request does not say it; on a chain without a proxy `direct`.
             * @enum {unknown}
             */
            defaultSubmission: "direct" | "proxy";
        };
        /** @description Whether the process and its database work. */
        Health: {
            /**
             * @description In a word.
             * @enum {unknown}
             */
            status: "healthy" | "unhealthy";
            /**
             * @description Whether the database answers.
             * @enum {unknown}
             */
            database: "connected" | "disconnected";
            /** @description Version of the program. */
            version: string;
        };
        /** @description How far the copy of each chain goes. */
        Readiness: {
            /**
             * @description Whether every chain is followed closely enough.
             * @enum {unknown}
             */
            status: "ready" | "not ready";
            /**
             * @description Whether the database answers.
             * @enum {unknown}
             */
            database: "connected" | "disconnected";
            /** @description What signs, as it was last seen. Records do not need it: it does not make the service not ready. */
            signer?: {
                /**
                 * @description Whether it signs.
                 * @enum {unknown}
                 */
                status: "ready" | "not ready";
                /** @description Why not. */
                reason?: string;
            };
            /** @description By slug. */
            chains: {
                [key: string]: {
                    /**
                     * @description In a word.
                     * @enum {unknown}
                     */
                    status: "ready" | "not started" | "reading history" | "lagging" | "node behind" | "indexer silent" | "in doubt";
                    /** @description True if the copy is known to agree with the chain. Compute queries the chain about each attestation while it is not. */
                    fresh: boolean;
                    /** @description Why the copy may not agree with the chain; null if it is fresh. */
                    doubt: string | null;
                    /** @description The chain's last block, as its node last said. */
                    head_block: number | null;
                    /** @description The last block that is in the database. */
                    indexed_block: number | null;
                    /** @description Blocks between the two; null if the node names an older block, or the copy of the last one is in doubt. */
                    lag_blocks: number | null;
                    /** @description Seconds for which the copy has not been known to agree with the chain; null if it never was. */
                    lag_seconds: number | null;
                    /**
                     * Format: date-time
                     * @description Time of the chain's last block.
                     */
                    head_time: string | null;
                    /**
                     * Format: date-time
                     * @description Time of the last block that is in the database.
                     */
                    indexed_time: string | null;
                    /** @description Attestations that could not be stored: they give no record, and everything else goes on. */
                    withheld_attestations: number;
                    /** @description Location schemas of the chain's registry that were found and are indexed. */
                    location_schemas: number;
                    /** @description Blocks whose attestations of schemas that were found later are still to be read; 0 where none are. */
                    schema_history_blocks: number;
                    /** @description The chain's EIP-712 proxy, as it was last seen. Records do not need it: it makes no chain not ready. */
                    proxy?: {
                        /** @description The contract. */
                        address: string;
                        /**
                         * @description Whether it takes our signatures.
                         * @enum {unknown}
                         */
                        status: "ready" | "not ready";
                        /** @description Why not. */
                        reason?: string;
                    };
                };
            };
        };
        /** @description What an error means and what to do. */
        ErrorPage: {
            /**
             * Format: uri
             * @description The error's `type`.
             */
            type: string;
            /** @description Its `title`. */
            title: string;
            /** @description Its HTTP status. */
            status: number;
            /** @description What it means. */
            meaning: string;
            /** @description What causes it. */
            causes: string[];
            /** @description What to do. */
            remedies: string[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Healthy. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description A chain lags, or the database does not answer. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prometheus text format. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    distance: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description With `from`, `to`. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description The first geometry. */
                    from: components["schemas"]["Input"];
                    /** @description The second geometry. */
                    to: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description In meters, to 0.01. */
                        result: number;
                        /**
                         * @description The unit of `result`.
                         * @constant
                         */
                        units: "meters";
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "distance";
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    contains: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description Typically a Polygon. */
                    container: components["schemas"]["Input"];
                    /** @description What may lie in it. */
                    geometry: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                } | {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description Typically a Polygon. */
                    container: components["schemas"]["Input"];
                    /** @description Another name of `geometry`. */
                    containee: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The answer. */
                        result: boolean;
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "contains";
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    within: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description With `geometry`, `target`. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description Typically a Point. */
                    geometry: components["schemas"]["Input"];
                    /** @description What it may be close to. */
                    target: components["schemas"]["Input"];
                    /** @description The greatest distance, in metres. */
                    radius: number;
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The answer. */
                        result: boolean;
                        /** @description `within:` and the parameter; match it by its prefix. */
                        operation: string;
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    intersects: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description With `geometry1`, `geometry2`. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description The first geometry. */
                    geometry1: components["schemas"]["Input"];
                    /** @description The second geometry. */
                    geometry2: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The answer. */
                        result: boolean;
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "intersects";
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    area: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description With `geometry`. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description A Polygon or MultiPolygon; others are refused. */
                    geometry: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description In square meters, to 0.0001. */
                        result: number;
                        /**
                         * @description The unit of `result`.
                         * @constant
                         */
                        units: "square_meters";
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "area";
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    length: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description With `geometry`. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                    schema?: string;
                    /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                    recipient?: string;
                    /** @description A LineString or MultiLineString; others are refused. */
                    geometry: components["schemas"]["Input"];
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                };
            };
        };
        responses: {
            /** @description The result, signed. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description In meters, to 0.01. */
                        result: number;
                        /**
                         * @description The unit of `result`.
                         * @constant
                         */
                        units: "meters";
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "length";
                        /** @description Unix seconds of the computation. */
                        timestamp: number;
                        /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                        inputRefs: string[];
                        attestation: components["schemas"]["Attestation"];
                        delegatedAttestation: components["schemas"]["DelegatedAttestation"];
                        attestByDelegation: components["schemas"]["DelegatedRequest"];
                        transaction?: components["schemas"]["Transaction"];
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.
                     * @example 84532
                     */
                    chainId: number;
                    /** @description Schema of the operations that name none. */
                    schema?: string;
                    /** @description Recipient of the operations that name none. */
                    recipient?: string;
                    /**
                     * @description How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us. Default: the deployment's own (`GET /`), `direct` on a chain without a proxy.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                    /** @description What to compute, each with the parameters of its own endpoint. */
                    operations: ({
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "distance";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description The first geometry. */
                        from: components["schemas"]["Input"];
                        /** @description The second geometry. */
                        to: components["schemas"]["Input"];
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "contains";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description Typically a Polygon. */
                        container: components["schemas"]["Input"];
                        /** @description What may lie in it. */
                        geometry: components["schemas"]["Input"];
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "contains";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description Typically a Polygon. */
                        container: components["schemas"]["Input"];
                        /** @description Another name of `geometry`. */
                        containee: components["schemas"]["Input"];
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "within";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description Typically a Point. */
                        geometry: components["schemas"]["Input"];
                        /** @description What it may be close to. */
                        target: components["schemas"]["Input"];
                        /** @description The greatest distance, in metres. */
                        radius: number;
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "intersects";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description The first geometry. */
                        geometry1: components["schemas"]["Input"];
                        /** @description The second geometry. */
                        geometry2: components["schemas"]["Input"];
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "area";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description A Polygon or MultiPolygon; others are refused. */
                        geometry: components["schemas"]["Input"];
                    } | {
                        /**
                         * @description The operation.
                         * @constant
                         */
                        operation: "length";
                        /** @description UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`). */
                        schema?: string;
                        /** @description Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address. */
                        recipient?: string;
                        /** @description A LineString or MultiLineString; others are refused. */
                        geometry: components["schemas"]["Input"];
                    })[];
                };
            };
        };
        responses: {
            /** @description The results, signed, and the call that submits them. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchResult"];
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resign: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain that it was signed for.
                     * @example 84532
                     */
                    chainId: number;
                    attestation: components["schemas"]["EarlierAttestation"];
                    delegatedAttestation: components["schemas"]["ResignableDelegation"];
                    /**
                     * @description How it is to land now. Default: as before.
                     * @enum {unknown}
                     */
                    submission?: "direct" | "proxy";
                    /** @description `transaction`: the transaction that submits the answer. */
                    include?: "transaction"[];
                    /** @description May be left in; must then be what was signed, as the four below. */
                    result?: unknown;
                    /**
                     * @description Of numeric results.
                     * @enum {unknown}
                     */
                    units?: "meters" | "square_meters";
                    /** @description Name of the operation; for within `within:<radius in centimetres>`. */
                    operation?: string;
                    /** @description Unix seconds of the computation. */
                    timestamp?: number;
                    /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                    inputRefs?: string[];
                    attestByDelegation?: components["schemas"]["DelegatedRequest"];
                    transaction?: components["schemas"]["Transaction"];
                } | components["schemas"]["EarlierBatch"];
            };
        };
        responses: {
            /** @description The same result, or those of the batch, signed anew. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComputeResult"] | components["schemas"]["BatchResult"];
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Accepted as in the requests of answers. A geometry has the same reference on every chain.
                     * @example 84532
                     */
                    chainId?: number;
                    /** @description A GeoJSON geometry, or a Feature or FeatureCollection of one; with a salt or without. */
                    geometry: components["schemas"]["Geometry"] | components["schemas"]["Feature"] | components["schemas"]["FeatureCollection"] | {
                        geometry: components["schemas"]["Geometry"] | components["schemas"]["Feature"] | components["schemas"]["FeatureCollection"];
                        /** @description 32 random bytes; not zeros. */
                        salt: string;
                    };
                };
            };
        };
        responses: {
            /** @description The reference. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description keccak256 of the canonical JSON (RFC 8785) of the geometry. */
                        inputRef: string;
                    };
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An earlier answer of this service, whole or as much of it as is needed. */
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The chain that it was signed for.
                     * @example 84532
                     */
                    chainId: number;
                    attestation: components["schemas"]["EarlierAttestation"];
                    delegatedAttestation: components["schemas"]["EarlierDelegation"];
                    /** @description May be left in; must then be what was signed, as the four below. */
                    result?: unknown;
                    /**
                     * @description Of numeric results.
                     * @enum {unknown}
                     */
                    units?: "meters" | "square_meters";
                    /** @description Name of the operation; for within `within:<radius in centimetres>`. */
                    operation?: string;
                    /** @description Unix seconds of the computation. */
                    timestamp?: number;
                    /** @description One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry. */
                    inputRefs?: string[];
                    attestByDelegation?: components["schemas"]["DelegatedRequest"];
                    transaction?: components["schemas"]["Transaction"];
                };
            };
        };
        responses: {
            /** @description What it is worth. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
            /** @description `invalid-input`: The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `verification-failed`: A signature does not hold, so what it vouches for was not used. Nothing was signed. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `attestation-not-found`: There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate-limited`: More requests came from your address within an hour than are allowed. Nothing was computed. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `computation-error`: The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault. */
            500: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLocationRecords: {
        parameters: {
            query?: {
                /** @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo; an alias, or its ID. Several: separated by commas. */
                chain?: string;
                /** @description Address that created the attestation, in any letter case. Several: separated by commas. */
                prover?: string;
                /** @description Its recipient, in any letter case. Several: separated by commas. */
                subject?: string;
                /**
                 * @description Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).
                 * @example 2025-12-01
                 */
                fromTimestamp?: string;
                /**
                 * @description Attested before this time (as `fromTimestamp`).
                 * @example 2026-01-01T12:00:00Z
                 */
                toTimestamp?: string;
                /**
                 * @description `minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.
                 * @example -10,35,30,60
                 */
                bbox?: string;
                /** @description UID of the schema of the attestation, in any letter case. Several: separated by commas. */
                schema?: string;
                /** @description Format of `location`, in any letter case. Several: separated by commas. */
                location_type?: string;
                /**
                 * @description Words that all occur among the first 2,000 characters of the memo, in any letter case; each may be the beginning of one.
                 * @example eiffel tower
                 */
                memo?: string;
                /**
                 * @description A JSON object: only records whose `attributes` contain it, at every depth (jsonb `@>`).
                 * @example {"assetId":"pump-7"}
                 */
                attributes?: string;
                /** @description Only revoked ones, or only ones that are not. */
                revoked?: boolean;
                /**
                 * @description `lng,lat` in degrees: only what lies within `radius` of it, on the ellipsoid, to the centimetre; or what is nearest to it, with `sort=distance`.
                 * @example 13.3777,52.5163
                 */
                near?: string;
                /** @description Metres; belongs to `near`. */
                radius?: number;
                /**
                 * @description GeoJSON (a geometry, or a Feature) or WKT, longitude first: only what shares a place with it, edges being geodesics. Not with `near`.
                 * @example POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))
                 */
                intersects?: string;
                /** @description By the time of the attestation's block or of the located event; `-` is descending. `distance`: nearest to `near` first, exactly; each record then has `distance_meters`, and `radius` is optional. */
                sort?: "timestamp" | "-timestamp" | "event_timestamp" | "-event_timestamp" | "distance";
                /** @description How many at most. A page has 1000 at most: more gives 1000 in JSON, and streams the other formats. GeoParquet and FlatGeobuf are never pages. */
                limit?: number;
                /** @description How many to skip: page n of size L has (n-1)*L. At most 100000, unless beyond the last record: further on goes `cursor`. */
                offset?: number;
                /** @description `next_cursor` of the page before, with the same filters and sort: goes on from its last record, whatever arrived meanwhile. Not with `offset`. */
                cursor?: string;
                /** @description Whether to count all that match, in JSON; a page for browsers always says it. */
                total?: boolean;
                /** @description What to answer in; else `Accept` says, or it is JSON. */
                format?: "json" | "geojson" | "ndjson" | "csv" | "geoparquet" | "flatgeobuf" | "html";
                /** @description What each record has beyond its fields. provenance: schema, ref_uid, revocable, expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, transaction_url, attestation_url. */
                include?: "provenance";
                /** @description A column `geometry` in CSV: Well-Known Text, longitude first. */
                geometry?: "wkt";
                /** @description A byte order mark before CSV, by which Excel recognizes UTF-8. */
                bom?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Attested locations that match all filters */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    /** @description `self`, `next` (by cursor), `first` and, where pages are counted by `offset`, `prev`: RFC 8288. Left out where it would be longer than 6,000 characters, and of an answer that is read to its end. */
                    link?: string;
                    /** @description A file name, of all formats but JSON and HTML. */
                    "content-disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListResponse"];
                    "application/geo+json": components["schemas"]["RecordFeatureCollection"];
                    "application/x-ndjson": string;
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                    "application/vnd.flatgeobuf": string;
                    "text/html": string;
                };
            };
            /** @description Nothing changed since the answer with this ETag. */
            304: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach, or too many exports are under way. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getStatistics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts over all records */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statistics"];
                };
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getLocationRecord: {
        parameters: {
            query?: {
                /**
                 * @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo; an alias, or its ID.
                 * @example base-sepolia
                 */
                chain?: string;
                /** @description What each record has beyond its fields. provenance: schema, ref_uid, revocable, expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, transaction_url, attestation_url. */
                include?: "provenance";
                /** @description What to answer in; else `Accept` says, or it is JSON. */
                format?: "json" | "geojson" | "html";
            };
            header?: never;
            path: {
                /** @description UID of the attestation, in any letter case. */
                uid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One attested location by its UID */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LocationRecord"];
                    "application/geo+json": components["schemas"]["RecordFeature"];
                    "text/html": string;
                };
            };
            /** @description Nothing changed since the answer with this ETag. */
            304: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description No record has this UID. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    listSchemas: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Location schemas found in the registries */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchemaList"];
                };
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getConfiguration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Chains and schema of the Records API */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    listAnswers: {
        parameters: {
            query?: {
                /** @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo, base; an alias, or its ID. Several: separated by commas. */
                chain?: string;
                /** @description Who attested, as EAS has it: our signer, or the proxy of the chain, in any letter case. Several: separated by commas. */
                attester?: string;
                /** @description Recipient of the attestation, in any letter case. Several: separated by commas. */
                recipient?: string;
                /** @description distance, contains, within, intersects, area, length; `within` with any radius, `within:50000` with this one (in centimetres). Several: separated by commas. */
                operation?: string;
                /** @description What an answer is about: the UID of an attestation, or the reference of a geometry (`POST /compute/v0/reference`). Several, of which an answer has one: separated by commas. */
                input?: string;
                /** @description UID of the schema of the attestation, in any letter case. Several: separated by commas. */
                schema?: string;
                /** @description Only revoked ones, or only ones that are not. */
                revoked?: boolean;
                /**
                 * @description Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).
                 * @example 2025-12-01
                 */
                fromTimestamp?: string;
                /**
                 * @description Attested before this time (as `fromTimestamp`).
                 * @example 2026-01-01T12:00:00Z
                 */
                toTimestamp?: string;
                /** @description By the time of the attestation's block; `-` is descending. */
                sort?: "-timestamp" | "timestamp";
                /** @description How many at most. Of JSON and HTML 100 unless told otherwise, and 1000 at most; other formats hold all that match without it. */
                limit?: number;
                /** @description Default: what the Accept header prefers, else JSON. */
                format?: "json" | "ndjson" | "csv" | "html";
                /** @description `next_cursor` of the page before, with the same filters and sort. */
                cursor?: string;
                /** @description A byte order mark before CSV, by which Excel recognizes UTF-8. */
                bom?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Answers of this service that are attestations */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LandedAnswerList"];
                    "application/x-ndjson": string;
                    "text/csv": string;
                    "text/html": string;
                };
            };
            /** @description Nothing changed since the answer with this ETag. */
            304: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getAnswer: {
        parameters: {
            query?: {
                /**
                 * @description Slug of its chain, an alias, or its ID.
                 * @example base-sepolia
                 */
                chain?: string;
                /** @description Default: what the Accept header prefers, else JSON. */
                format?: "json" | "html";
            };
            header?: never;
            path: {
                /** @description UID of the attestation, in any letter case. */
                uid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One of them by its UID */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LandedAnswer"];
                    "text/html": string;
                };
            };
            /** @description Nothing changed since the answer with this ETag. */
            304: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the state of the data; with If-None-Match, the answer is 304 until a record changes. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description No answer of this service has this UID. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    streamLocationRecords: {
        parameters: {
            query?: {
                /** @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo; an alias, or its ID. Several: separated by commas. */
                chain?: string;
                /** @description Address that created the attestation, in any letter case. Several: separated by commas. */
                prover?: string;
                /** @description Its recipient, in any letter case. Several: separated by commas. */
                subject?: string;
                /** @description UID of the schema of the attestation, in any letter case. Several: separated by commas. */
                schema?: string;
                /** @description Format of `location`, in any letter case. Several: separated by commas. */
                location_type?: string;
                /**
                 * @description `minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.
                 * @example -10,35,30,60
                 */
                bbox?: string;
                /** @description What to hear of: everything at once (`latest`), or only what no reorg takes back, once that is certain (`final`). */
                finality?: "latest" | "final";
                /** @description Where to go on, for clients that cannot set the header Last-Event-ID; the header goes before it. */
                last_event_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until one side ends it. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getTileJson: {
        parameters: {
            query?: {
                /** @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo; an alias, or its ID. Several: separated by commas. */
                chain?: string;
                /** @description Address that created the attestation, in any letter case. Several: separated by commas. */
                prover?: string;
                /** @description Its recipient, in any letter case. Several: separated by commas. */
                subject?: string;
                /**
                 * @description Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).
                 * @example 2025-12-01
                 */
                fromTimestamp?: string;
                /**
                 * @description Attested before this time (as `fromTimestamp`).
                 * @example 2026-01-01T12:00:00Z
                 */
                toTimestamp?: string;
                /**
                 * @description `minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.
                 * @example -10,35,30,60
                 */
                bbox?: string;
                /** @description UID of the schema of the attestation, in any letter case. Several: separated by commas. */
                schema?: string;
                /** @description Format of `location`, in any letter case. Several: separated by commas. */
                location_type?: string;
                /**
                 * @description Words that all occur among the first 2,000 characters of the memo, in any letter case; each may be the beginning of one.
                 * @example eiffel tower
                 */
                memo?: string;
                /**
                 * @description A JSON object: only records whose `attributes` contain it, at every depth (jsonb `@>`).
                 * @example {"assetId":"pump-7"}
                 */
                attributes?: string;
                /** @description Only revoked ones, or only ones that are not. */
                revoked?: boolean;
                /**
                 * @description `lng,lat` in degrees: only what lies within `radius` of it, on the ellipsoid, to the centimetre; or what is nearest to it, with `sort=distance`.
                 * @example 13.3777,52.5163
                 */
                near?: string;
                /** @description Metres; belongs to `near`. */
                radius?: number;
                /**
                 * @description GeoJSON (a geometry, or a Feature) or WKT, longitude first: only what shares a place with it, edges being geodesics. Not with `near`.
                 * @example POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))
                 */
                intersects?: string;
                /**
                 * @description Only records of which this is true, in CQL2: comparisons, LIKE, BETWEEN, IN, IS NULL and S_INTERSECTS, with AND, OR and NOT. A geometry's edges are geodesics; a BBOX is compared on the plane of longitude and latitude.
                 * @example revoked = FALSE AND S_INTERSECTS(geometry, BBOX(13, 52, 14, 53))
                 */
                filter?: string;
                /** @description The language of filter. */
                "filter-lang"?: "cql2-text" | "cql2-json";
                /** @description The reference system of the geometries in filter. There is only the one. */
                "filter-crs"?: "http://www.opengis.net/def/crs/OGC/1.3/CRS84" | "http://www.opengis.net/def/crs/OGC/0/CRS84h";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The description. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TileJson"];
                };
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getTile: {
        parameters: {
            query?: {
                /** @description Slug of a chain: base-sepolia, sepolia, arbitrum, celo; an alias, or its ID. Several: separated by commas. */
                chain?: string;
                /** @description Address that created the attestation, in any letter case. Several: separated by commas. */
                prover?: string;
                /** @description Its recipient, in any letter case. Several: separated by commas. */
                subject?: string;
                /**
                 * @description Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).
                 * @example 2025-12-01
                 */
                fromTimestamp?: string;
                /**
                 * @description Attested before this time (as `fromTimestamp`).
                 * @example 2026-01-01T12:00:00Z
                 */
                toTimestamp?: string;
                /**
                 * @description `minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.
                 * @example -10,35,30,60
                 */
                bbox?: string;
                /** @description UID of the schema of the attestation, in any letter case. Several: separated by commas. */
                schema?: string;
                /** @description Format of `location`, in any letter case. Several: separated by commas. */
                location_type?: string;
                /**
                 * @description Words that all occur among the first 2,000 characters of the memo, in any letter case; each may be the beginning of one.
                 * @example eiffel tower
                 */
                memo?: string;
                /**
                 * @description A JSON object: only records whose `attributes` contain it, at every depth (jsonb `@>`).
                 * @example {"assetId":"pump-7"}
                 */
                attributes?: string;
                /** @description Only revoked ones, or only ones that are not. */
                revoked?: boolean;
                /**
                 * @description `lng,lat` in degrees: only what lies within `radius` of it, on the ellipsoid, to the centimetre; or what is nearest to it, with `sort=distance`.
                 * @example 13.3777,52.5163
                 */
                near?: string;
                /** @description Metres; belongs to `near`. */
                radius?: number;
                /**
                 * @description GeoJSON (a geometry, or a Feature) or WKT, longitude first: only what shares a place with it, edges being geodesics. Not with `near`.
                 * @example POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))
                 */
                intersects?: string;
                /**
                 * @description Only records of which this is true, in CQL2: comparisons, LIKE, BETWEEN, IN, IS NULL and S_INTERSECTS, with AND, OR and NOT. A geometry's edges are geodesics; a BBOX is compared on the plane of longitude and latitude.
                 * @example revoked = FALSE AND S_INTERSECTS(geometry, BBOX(13, 52, 14, 53))
                 */
                filter?: string;
                /** @description The language of filter. */
                "filter-lang"?: "cql2-text" | "cql2-json";
                /** @description The reference system of the geometries in filter. There is only the one. */
                "filter-crs"?: "http://www.opengis.net/def/crs/OGC/1.3/CRS84" | "http://www.opengis.net/def/crs/OGC/0/CRS84h";
            };
            header?: never;
            path: {
                /** @description Zoom: the world has 2^z tiles on a side. */
                z: number;
                /** @description Column, counted from 180 degrees west. */
                x: number;
                /** @description Row, counted from the north. */
                y: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tile. */
            200: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Names the content. */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.mapbox-vector-tile": string;
                };
            };
            /** @description The tile is still the one with this ETag. */
            304: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is wrong, unknown, or given twice. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "ratelimit-reset"?: number;
                    /** @description Requests allowed in an hour. Absent where the deployment has no limit. */
                    "x-ratelimit-limit"?: number;
                    /** @description Requests left in the running hour. */
                    "x-ratelimit-remaining"?: number;
                    /** @description Seconds until the hour ends. */
                    "x-ratelimit-reset"?: number;
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
            /** @description The database is out of reach. */
            503: {
                headers: {
                    /** @description Seconds after which another try makes sense. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getGraphiql: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Queries are sent by POST. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
        };
    };
    queryGraphql: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GraphqlRequest"];
            };
        };
        responses: {
            /** @description The query was carried out; its errors, if it has any, are in the answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlAnswer"];
                };
            };
            /** @description The query is no query of this schema, or asks for more than is answered at once. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
            /** @description The body is larger than 64 KiB. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
            /** @description The body is no JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
            /** @description Too many requests, or too many at once. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
            /** @description A fault of ours. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
            /** @description The database is out of reach, or too many queries wait for it. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphqlErrors"];
                };
            };
        };
    };
    sendMcpMessage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["McpMessage"];
            };
        };
        responses: {
            /** @description The answer to the message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description A notification was taken. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message is no message of this protocol, or of no revision that is spoken. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description A page of another origin sent it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description The body is larger than 64 KiB. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description The body is no JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description Too many messages. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
            /** @description There was no answer in time. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                };
            };
        };
    };
    getInformation: {
        parameters: {
            query?: {
                /** @description JSON for browsers too, which get a page otherwise. */
                format?: "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deployment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Information"];
                    "text/html": string;
                };
            };
        };
    };
    getErrorPage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The end of the error's `type`. */
                slug: "invalid-input" | "attestation-not-found" | "verification-failed" | "computation-error" | "rate-limited";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorPage"];
                    "text/html": string;
                };
            };
            /** @description There is no such error. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordsError"];
                    "text/html": string;
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getLlms: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}

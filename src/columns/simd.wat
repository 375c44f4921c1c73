;; Functions that read each slot of a table, for processors with vectors of 128 bits. On other processors, functions of kernel.ts
;; and bitmaps.wat replace them. A bitmap has one bit for each slot. The number of slots is a multiple of 128, so bitmaps are
;; multiples of 16 bytes.
(module
  (import "" "memory" (memory 1 65536))

  ;; Writes a bitmap of the slots whose code of 32 bits is in a range: the code minus `least`, as an unsigned integer, is at most
  ;; `width`.
  (func (export "range32") (param $column i32) (param $slots i32) (param $to i32) (param $least i32) (param $width i32)
    (local $end i32) (local $leasts v128) (local $widths v128)
    (local.set $leasts (i32x4.splat (local.get $least)))
    (local.set $widths (i32x4.splat (local.get $width)))
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (i32.store16 (local.get $to)
        (i8x16.bitmask
          (i8x16.narrow_i16x8_s
            (i16x8.narrow_i32x4_s
              (i32x4.le_u (i32x4.sub (v128.load (local.get $column)) (local.get $leasts)) (local.get $widths))
              (i32x4.le_u (i32x4.sub (v128.load offset=16 (local.get $column)) (local.get $leasts)) (local.get $widths)))
            (i16x8.narrow_i32x4_s
              (i32x4.le_u (i32x4.sub (v128.load offset=32 (local.get $column)) (local.get $leasts)) (local.get $widths))
              (i32x4.le_u (i32x4.sub (v128.load offset=48 (local.get $column)) (local.get $leasts)) (local.get $widths))))))
      (local.set $to (i32.add (local.get $to) (i32.const 2)))
      (local.set $column (i32.add (local.get $column) (i32.const 64)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))

  ;; Tests which of eight codes of 64 bits are in a range. Returns a lane of 16 bits for each code: all bits of the lane are set
  ;; if the code is in the range.
  (func $within (param $column i32) (param $leasts v128) (param $greatests v128) (result v128)
    (i16x8.narrow_i32x4_s
      (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
        (v128.and
          (i64x2.ge_s (v128.load (local.get $column)) (local.get $leasts))
          (i64x2.le_s (v128.load (local.get $column)) (local.get $greatests)))
        (v128.and
          (i64x2.ge_s (v128.load offset=16 (local.get $column)) (local.get $leasts))
          (i64x2.le_s (v128.load offset=16 (local.get $column)) (local.get $greatests))))
      (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
        (v128.and
          (i64x2.ge_s (v128.load offset=32 (local.get $column)) (local.get $leasts))
          (i64x2.le_s (v128.load offset=32 (local.get $column)) (local.get $greatests)))
        (v128.and
          (i64x2.ge_s (v128.load offset=48 (local.get $column)) (local.get $leasts))
          (i64x2.le_s (v128.load offset=48 (local.get $column)) (local.get $greatests))))))

  ;; Writes a bitmap of the slots whose code of 64 bits, signed, is from `least` to `greatest`.
  (func (export "range64") (param $column i32) (param $slots i32) (param $to i32) (param $least i64) (param $greatest i64)
    (local $end i32) (local $leasts v128) (local $greatests v128)
    (local.set $leasts (i64x2.splat (local.get $least)))
    (local.set $greatests (i64x2.splat (local.get $greatest)))
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (i32.store16 (local.get $to)
        (i8x16.bitmask
          (i8x16.narrow_i16x8_s
            (call $within (local.get $column) (local.get $leasts) (local.get $greatests))
            (call $within (i32.add (local.get $column) (i32.const 64)) (local.get $leasts) (local.get $greatests)))))
      (local.set $to (i32.add (local.get $to) (i32.const 2)))
      (local.set $column (i32.add (local.get $column) (i32.const 128)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))

  ;; Returns how many bits are set in each of four lanes of 32 bits.
  (func $counts (param $bits v128) (result v128)
    (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt (local.get $bits)))))

  (func $sum (param $counts v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $counts)) (i32x4.extract_lane 1 (local.get $counts)))
      (i32.add (i32x4.extract_lane 2 (local.get $counts)) (i32x4.extract_lane 3 (local.get $counts)))))

  ;; Writes the bits that are set in both bitmaps, and returns their number. `to` may be the address of one of the bitmaps.
  (func (export "and") (param $one i32) (param $other i32) (param $to i32) (param $bytes i32) (result i32)
    (local $end i32) (local $bits v128) (local $counts v128)
    (local.set $end (i32.add (local.get $one) (local.get $bytes)))
    (loop $next
      (local.set $bits (v128.and (v128.load (local.get $one)) (v128.load (local.get $other))))
      (v128.store (local.get $to) (local.get $bits))
      (local.set $counts (i32x4.add (local.get $counts) (call $counts (local.get $bits))))
      (local.set $one (i32.add (local.get $one) (i32.const 16)))
      (local.set $other (i32.add (local.get $other) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.ne (local.get $one) (local.get $end))))
    (call $sum (local.get $counts)))

  ;; Writes the bits that are set in `one` but not in `other`, and returns their number. `to` may be the address of one of the
  ;; bitmaps.
  (func (export "andNot") (param $one i32) (param $other i32) (param $to i32) (param $bytes i32) (result i32)
    (local $end i32) (local $bits v128) (local $counts v128)
    (local.set $end (i32.add (local.get $one) (local.get $bytes)))
    (loop $next
      (local.set $bits (v128.andnot (v128.load (local.get $one)) (v128.load (local.get $other))))
      (v128.store (local.get $to) (local.get $bits))
      (local.set $counts (i32x4.add (local.get $counts) (call $counts (local.get $bits))))
      (local.set $one (i32.add (local.get $one) (i32.const 16)))
      (local.set $other (i32.add (local.get $other) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.ne (local.get $one) (local.get $end))))
    (call $sum (local.get $counts)))

  ;; Writes the bits that are set in at least one of the bitmaps, and returns their number. `to` may be the address of one of the
  ;; bitmaps.
  (func (export "or") (param $one i32) (param $other i32) (param $to i32) (param $bytes i32) (result i32)
    (local $end i32) (local $bits v128) (local $counts v128)
    (local.set $end (i32.add (local.get $one) (local.get $bytes)))
    (loop $next
      (local.set $bits (v128.or (v128.load (local.get $one)) (v128.load (local.get $other))))
      (v128.store (local.get $to) (local.get $bits))
      (local.set $counts (i32x4.add (local.get $counts) (call $counts (local.get $bits))))
      (local.set $one (i32.add (local.get $one) (i32.const 16)))
      (local.set $other (i32.add (local.get $other) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.ne (local.get $one) (local.get $end))))
    (call $sum (local.get $counts)))

  ;; Returns how many bits are set in both bitmaps, and writes nothing.
  (func (export "countBoth") (param $one i32) (param $other i32) (param $bytes i32) (result i32)
    (local $end i32) (local $counts v128)
    (local.set $end (i32.add (local.get $one) (local.get $bytes)))
    (loop $next
      (local.set $counts
        (i32x4.add
          (local.get $counts)
          (call $counts (v128.and (v128.load (local.get $one)) (v128.load (local.get $other))))))
      (local.set $one (i32.add (local.get $one) (i32.const 16)))
      (local.set $other (i32.add (local.get $other) (i32.const 16)))
      (br_if $next (i32.ne (local.get $one) (local.get $end))))
    (call $sum (local.get $counts)))

  ;; Writes a bitmap of the slots whose code of 32 bits is one of the ids, as amongIds32 of bitmaps.wat does. The instructions for
  ;; one lane are repeated instead of shared in a function, because a call for each lane would take longer than the look-up.
  (func (export "amongIds32")
    (param $column i32) (param $slots i32) (param $ids i32) (param $base i32) (param $size i32) (param $to i32)
    (local $end i32) (local $bits i32) (local $id i32) (local $four v128) (local $bases v128) (local $sizes v128)
    (local.set $bases (i32x4.splat (local.get $base)))
    (local.set $sizes (i32x4.splat (local.get $size)))
    (local.set $end (i32.add (local.get $to) (i32.shr_u (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $bits (i32.const 0))
      (local.set $four
        (i32x4.min_u (local.get $sizes) (i32x4.sub (v128.load (local.get $column)) (local.get $bases))))
      (local.set $id (i32x4.extract_lane 0 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 0))))
      (local.set $id (i32x4.extract_lane 1 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 1))))
      (local.set $id (i32x4.extract_lane 2 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 2))))
      (local.set $id (i32x4.extract_lane 3 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 3))))
      (local.set $four
        (i32x4.min_u (local.get $sizes) (i32x4.sub (v128.load offset=16 (local.get $column)) (local.get $bases))))
      (local.set $id (i32x4.extract_lane 0 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 4))))
      (local.set $id (i32x4.extract_lane 1 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 5))))
      (local.set $id (i32x4.extract_lane 2 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 6))))
      (local.set $id (i32x4.extract_lane 3 (local.get $four)))
      (local.set $bits
        (i32.or (local.get $bits)
          (i32.shl
            (i32.and
              (i32.shr_u
                (i32.load (i32.add (local.get $ids) (i32.and (i32.shr_u (local.get $id) (i32.const 3)) (i32.const -4))))
                (local.get $id))
              (i32.const 1))
            (i32.const 7))))
      (i32.store8 (local.get $to) (local.get $bits))
      (local.set $column (i32.add (local.get $column) (i32.const 32)))
      (local.set $to (i32.add (local.get $to) (i32.const 1)))
      (br_if $next (i32.ne (local.get $to) (local.get $end)))))
)

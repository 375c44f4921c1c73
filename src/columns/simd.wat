;; The two functions that look at every row, 16 rows at a time, for processors with vectors of 128 bits. kernel.ts has them for others.
(module
  (import "" "memory" (memory 1 65536))

  ;; Leaves of the rows in a bitmap those whose code of 32 bits, less the least, is at most the width, both unsigned; with a
  ;; flip of 0xffff, the others.
  (func (export "range32")
    (param $column i32) (param $rows i32) (param $from i32) (param $to i32) (param $least i32) (param $width i32) (param $flip i32)
    (local $end i32) (local $leasts v128) (local $widths v128)
    (local.set $leasts (i32x4.splat (local.get $least)))
    (local.set $widths (i32x4.splat (local.get $width)))
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $rows) (i32.const 2))))
    (loop $next
      (i32.store16 (local.get $to)
        (i32.and
          (i32.load16_u (local.get $from))
          (i32.xor
            (local.get $flip)
            (i8x16.bitmask
              (i8x16.narrow_i16x8_s
                (i16x8.narrow_i32x4_s
                  (i32x4.le_u (i32x4.sub (v128.load (local.get $column)) (local.get $leasts)) (local.get $widths))
                  (i32x4.le_u (i32x4.sub (v128.load offset=16 (local.get $column)) (local.get $leasts)) (local.get $widths)))
                (i16x8.narrow_i32x4_s
                  (i32x4.le_u (i32x4.sub (v128.load offset=32 (local.get $column)) (local.get $leasts)) (local.get $widths))
                  (i32x4.le_u (i32x4.sub (v128.load offset=48 (local.get $column)) (local.get $leasts)) (local.get $widths))))))))
      (local.set $from (i32.add (local.get $from) (i32.const 2)))
      (local.set $to (i32.add (local.get $to) (i32.const 2)))
      (local.set $column (i32.add (local.get $column) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $column) (local.get $end)))))

  ;; Of eight floats, which are in the range: a lane of 16 bits for each.
  (func $within (param $column i32) (param $leasts v128) (param $greatests v128) (result v128)
    (i16x8.narrow_i32x4_s
      (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
        (v128.and
          (f64x2.ge (v128.load (local.get $column)) (local.get $leasts))
          (f64x2.le (v128.load (local.get $column)) (local.get $greatests)))
        (v128.and
          (f64x2.ge (v128.load offset=16 (local.get $column)) (local.get $leasts))
          (f64x2.le (v128.load offset=16 (local.get $column)) (local.get $greatests))))
      (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
        (v128.and
          (f64x2.ge (v128.load offset=32 (local.get $column)) (local.get $leasts))
          (f64x2.le (v128.load offset=32 (local.get $column)) (local.get $greatests)))
        (v128.and
          (f64x2.ge (v128.load offset=48 (local.get $column)) (local.get $leasts))
          (f64x2.le (v128.load offset=48 (local.get $column)) (local.get $greatests))))))

  ;; The same of floats from the least to the greatest. NaN, which is no value, is in no range.
  (func (export "range64")
    (param $column i32) (param $rows i32) (param $from i32) (param $to i32) (param $least f64) (param $greatest f64) (param $flip i32)
    (local $end i32) (local $leasts v128) (local $greatests v128)
    (local.set $leasts (f64x2.splat (local.get $least)))
    (local.set $greatests (f64x2.splat (local.get $greatest)))
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $rows) (i32.const 3))))
    (loop $next
      (i32.store16 (local.get $to)
        (i32.and
          (i32.load16_u (local.get $from))
          (i32.xor
            (local.get $flip)
            (i8x16.bitmask
              (i8x16.narrow_i16x8_s
                (call $within (local.get $column) (local.get $leasts) (local.get $greatests))
                (call $within (i32.add (local.get $column) (i32.const 64)) (local.get $leasts) (local.get $greatests)))))))
      (local.set $from (i32.add (local.get $from) (i32.const 2)))
      (local.set $to (i32.add (local.get $to) (i32.const 2)))
      (local.set $column (i32.add (local.get $column) (i32.const 128)))
      (br_if $next (i32.lt_u (local.get $column) (local.get $end)))))
)
